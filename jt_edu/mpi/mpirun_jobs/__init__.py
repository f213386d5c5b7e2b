"""Mpirun jobs: programs and cells under mpirun: started, watched, ended, and told about."""
