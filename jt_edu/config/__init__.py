from argparse import ArgumentParser
from yacs.config import CfgNode
