"""Staged: what have networks in common that make tokens, send them through a row of blocks, and normalise them?

image -- begin -- block -- block -- ... -- norm -- pool, linear
                    |        |
                    maps that one may want: `forward_intermediates`
"""

from __future__ import annotations

from typing import Any, ClassVar

from jt_edu import nn
from jt_edu.ops.arguments import choice, yes_or_no
from jt_edu.variable.var import Var
from jt_edu.zoo.features import Indices, feature_take_indices
from jt_edu.zoo.network import ZooNet


class StagedNet(ZooNet):
    """A network of tokens; what its first layer and its row of blocks are called, a subclass says.

    Example:
        >>> net = jt.zoo.create_model("vit_tiny_patch16_224", img_size=32, embed_dim=6, depth=2)
        >>> net.forward_intermediates(jt.ones(1, 3, 32, 32), 1, intermediates_only=True)[0].shape
        (1, 6, 2, 2)
    """

    first: ClassVar[str] = "patch_embed"
    row: ClassVar[str] = "blocks"
    num_features: int
    norm: nn.Module

    def no_weight_decay(self) -> set[str]:
        """Names of the parameters that an optimizer does not make smaller: places, and tokens of no patch."""
        return {n for n, _ in self.named_parameters() if n.endswith(("_embed", "_token", "position_bias_table"))}

    def forward_features(self, x: Var) -> Var:
        """What the blocks make of images."""
        features: Var = self.norm(getattr(self, self.row)(self._begun(x)))
        return features

    def forward_intermediates(
        self, x: Var, indices: Indices = None, norm: bool = False, stop_early: bool = False, output_fmt: str = "NCHW",
        intermediates_only: bool = False,
    ) -> Any:  # fmt: skip
        """What leaves some of the blocks, as maps; and the features of the last one.

        Args:
            x: images.
            indices: which blocks, as in `feature_take_indices`.
            norm: whether the last norm is put on each map that it fits.
            stop_early: whether blocks behind the last map are left out.
            output_fmt: "NCHW", or "NLC" for tokens.
            intermediates_only: return the maps alone.
        """
        name = f"{type(self).__name__}.forward_intermediates"
        wanted, last = feature_take_indices(len(self.feature_info), indices)
        choice(name, "output_fmt", output_fmt, ("NCHW", "NLC"))
        norms, x, maps = yes_or_no(name, "norm", norm), self._begun(x), {}
        blocks = getattr(self, self.row)
        for k, block in enumerate(blocks[: last + 1] if yes_or_no(name, "stop_early", stop_early) else blocks):
            x = block(x)
            if k in wanted:
                fits = self.feature_info[k]["num_chs"] == self.num_features
                maps[k] = self._laid_out(self.norm(x) if norms and fits else x, output_fmt)
        found = [maps[k] for k in sorted(maps)]
        if yes_or_no(name, "intermediates_only", intermediates_only):
            return found
        return (self.norm(x) if x.shape[-1] == self.num_features else x), found

    def _begun(self, x: Var) -> Var:
        """Tokens of images."""
        tokens: Var = getattr(self, self.first)(x)
        return tokens

    def _laid_out(self, x: Var, output_fmt: str) -> Var:
        """Tokens (n, l, d), or (n, h, w, d), as a map (n, d, h, w)."""
        patches = getattr(self, self.first)
        tokens = x if x.ndim == 4 else x[:, x.shape[1] - patches.num_patches :]  # those of patches are the last ones
        if output_fmt == "NLC":
            return tokens.reshape(len(x), -1, x.shape[-1])
        return (tokens if x.ndim == 4 else tokens.reshape(len(x), *patches.grid_size, -1)).permute(0, 3, 1, 2)

    def prune_intermediate_layers(
        self, indices: Indices = 1, prune_norm: bool = False, prune_head: bool = True
    ) -> list[int]:
        """Drop the blocks behind the last map that is asked for. Returns which maps these are.

        Args:
            indices: as in `forward_intermediates`.
            prune_norm: whether the norm goes too; it does, if it does not fit.
            prune_head: whether pool and last layer do.
        """
        name = f"{type(self).__name__}.prune_intermediate_layers"
        wanted, last = feature_take_indices(len(self.feature_info), indices)
        setattr(self, self.row, getattr(self, self.row)[: last + 1])
        other = self.feature_info[last]["num_chs"] != self.num_features
        if yes_or_no(name, "prune_norm", prune_norm) or other:
            self.norm = nn.Identity()
        self.num_features = self.head_hidden_size = self.feature_info[last]["num_chs"]
        if yes_or_no(name, "prune_head", prune_head) or other:
            self._headless()
        return wanted

    def _headless(self) -> None:
        self.reset_classifier(0, "")
