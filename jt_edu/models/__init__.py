"""models: networks that became known, each in one file to be read from top to bottom. This file is a door: names only.

    net = jt.models.resnet50(num_classes=10)
    scores = net(jt.rand(1, 3, 224, 224))              # (1, 10)
    net.load("mine.pth")                               # keys, shapes and order are torchvision's
    net = jt.models.resnet50(pretrained=True)          # with torchvision's weights, downloaded once

                            parameters    operations
                                / 10^6        / 10^9, for one image of 224 x 224, as `jt.explain` counts them

    alexnet                       61.1          1.43
    vgg11                        132.9          15.2
    vgg11_bn                     132.9          15.3
    vgg13                        133.0          22.6
    vgg13_bn                     133.1          22.7
    vgg16                        138.4            31
    vgg16_bn                     138.4            31
    vgg19                        143.7          39.3
    vgg19_bn                     143.7          39.3
    resnet18                      11.7          3.63
    resnet34                      21.8          7.33
    resnet50                      25.6          8.18
    resnet101                     44.5          15.6
    resnet152                     60.2            23
    resnext50_32x4d               25.0          8.46
    resnext101_32x8d              88.8          32.8
    wide_resnet50_2               68.9          22.8
    wide_resnet101_2             126.9          45.5
    densenet121                    8.0          5.76
    densenet161                   28.7          15.6
    densenet169                   14.1          6.83
    densenet201                   20.0          8.74
    googlenet                     13.0          3.03
    inception_v3                  27.2          5.71
    squeezenet1_0                  1.2          1.66
    squeezenet1_1                  1.2         0.712
    mobilenet_v2                   3.5         0.602
    mobilenet_v3_large             5.5         0.437
    mobilenet_v3_small             2.5         0.114
    shufflenet_v2_x0_5             1.4         0.085
    shufflenet_v2_x1_0             2.3         0.296
    shufflenet_v2_x1_5             3.5           0.6
    shufflenet_v2_x2_0             7.4          1.18
    mnasnet0_5                     2.2         0.209
    mnasnet0_75                    3.2         0.431
    mnasnet1_0                     4.4         0.629
    mnasnet1_3                     6.3          1.05

A multiply-add, which papers count once, is two operations. A network begins with random weights, drawn as its paper
or torchvision does it; they are computed when they are first needed, so one that is loaded from a file never draws any.
Images are (n, 3, h, w), of any size that is large enough for the network's pools.
"""

from typing import TYPE_CHECKING

from jt_edu.base.did_you_mean import door, names_of
from jt_edu.models.alexnet import AlexNet, alexnet
from jt_edu.models.densenet import *
from jt_edu.models.googlenet import GoogLeNet, GoogLeNetOutputs, googlenet
from jt_edu.models.inception import Inception3, InceptionOutputs, inception_v3
from jt_edu.models.mnasnet import *
from jt_edu.models.mobilenet import MobileNetV2, mobilenet_v2
from jt_edu.models.mobilenetv3 import MobileNetV3, mobilenet_v3_large, mobilenet_v3_small
from jt_edu.models.resnet import *
from jt_edu.models.shufflenetv2 import *
from jt_edu.models.squeezenet import SqueezeNet, squeezenet1_0, squeezenet1_1
from jt_edu.models.vgg import *

__all__ = [
    "AlexNet", "GoogLeNet", "GoogLeNetOutputs", "Inception3", "InceptionOutputs", "MobileNetV2", "MobileNetV3",
    "SqueezeNet", "alexnet", "googlenet", "inception_v3", "mobilenet_v2", "mobilenet_v3_large", "mobilenet_v3_small",
    "squeezenet1_0", "squeezenet1_1",
    *names_of("jt_edu.models", "densenet mnasnet resnet shufflenetv2 vgg"),
]  # fmt: skip
__all__.sort()

if not TYPE_CHECKING:
    __getattr__, __dir__ = door("jt.models", __all__)
