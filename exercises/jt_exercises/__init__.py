"""Exercises: a folder for each notebook, with checks that say what is not right, and where to look.

fusion 03, kernels 04, roofline 05, matmul 06, convolution 07   door, checks, and what those are asked about
verdict                                                 what a check answers
tell                                                    a comparison, for notebooks that know the right answer
grade                                                   which exercises a class has solved
timing                                                  comparing times on a machine that does other things, too
"""
