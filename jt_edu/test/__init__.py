"""Programs to try an installation with: `python -m jt_edu.test.test_resnet`, alone or under `mpirun -np 4`."""
