"""Backbones: names, counts and logits as torchvision's, of which nothing is needed to run these tests."""
