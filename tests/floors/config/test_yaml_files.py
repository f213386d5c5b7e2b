"""YAML files: bases first, and nothing that a stranger wrote runs or fills the memory."""

import pytest
import yaml

from jt_edu.config import CN, YamlError
from jt_edu.config.yaml_files import MOST_DEEP, MOST_LETTERS

SWIN = """\
MODEL:
  TYPE: swin
  NAME: swin_base_patch4_window12_384
  DROP_PATH_RATE: 0.2
  SWIN:
    EMBED_DIM: 128
    DEPTHS: [2, 2, 18, 2]
    NUM_HEADS: [4, 8, 16, 32]
    WINDOW_SIZE: 12
DATA:
  IMG_SIZE: 384
"""


def defaults():
    """Part of the defaults of Swin Transformer."""
    return CN({
        "BASE": [""],
        "DATA": {"BATCH_SIZE": 128, "IMG_SIZE": 224},
        "MODEL": {
            "TYPE": "swin", "NAME": "swin_tiny_patch4_window7_224", "NUM_CLASSES": 1000, "DROP_PATH_RATE": 0.1,
            "SWIN": {"PATCH_SIZE": 4, "EMBED_DIM": 96, "DEPTHS": [2, 2, 6, 2], "NUM_HEADS": [3, 6, 12, 24],
                     "WINDOW_SIZE": 7, "MLP_RATIO": 4.0},
        },
    })  # fmt: skip


@pytest.fixture
def write(tmp_path):
    """A function: a name and a text -> the path of a file."""

    def written(name, text):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return written


def test_the_file_of_swin_changes_only_its_own_keys(write):
    cfg = defaults()

    cfg.merge_from_file(write("swin_base.yaml", SWIN))

    assert str(cfg) == (
        "BASE: ['']\n"
        "DATA:\n  BATCH_SIZE: 128\n  IMG_SIZE: 384\n"
        "MODEL:\n  DROP_PATH_RATE: 0.2\n  NAME: swin_base_patch4_window12_384\n  NUM_CLASSES: 1000\n"
        "  SWIN:\n    DEPTHS: [2, 2, 18, 2]\n    EMBED_DIM: 128\n    MLP_RATIO: 4.0\n"
        "    NUM_HEADS: [4, 8, 16, 32]\n    PATCH_SIZE: 4\n    WINDOW_SIZE: 12\n  TYPE: swin"
    )


def test_a_file_with_a_key_or_a_type_that_is_not_here_is_refused_with_the_path(write):
    with pytest.raises(KeyError, match=r"'MODEL\.SWIN\.WINDOW'\. Try: MODEL\.SWIN\.WINDOW_SIZE"):
        defaults().merge_from_file(write("a.yaml", "MODEL: {SWIN: {WINDOW: 12}}"))
    with pytest.raises(ValueError, match=r"^MODEL\.SWIN\.MLP_RATIO keeps its type; found 4, .* Try: 4\.0"):
        defaults().merge_from_file(write("b.yaml", "MODEL: {SWIN: {MLP_RATIO: 4}}"))


@pytest.mark.parametrize("with_key", [True, False])
def test_bases_are_merged_first_from_beside_the_file(write, with_key):
    cfg = defaults()
    if not with_key:
        del cfg["BASE"]
    write("common/data.yaml", "DATA: {IMG_SIZE: 256, BATCH_SIZE: 8}")
    write("common/model.yml", "BASE: [data.yaml]\nMODEL: {DROP_PATH_RATE: 0.3, NAME: m}\nDATA: {BATCH_SIZE: 16}")

    cfg.merge_from_file(write("mine.yaml", "BASE: ['', common/model.yml]\nMODEL: {NAME: mine}"))

    assert (cfg.DATA, cfg.MODEL.DROP_PATH_RATE, cfg.MODEL.NAME) == ({"IMG_SIZE": 256, "BATCH_SIZE": 16}, 0.3, "mine")
    assert cfg.get("BASE") == (["", "common/model.yml"] if with_key else None)


def test_files_that_name_each_other_are_refused(write):
    write("b.yaml", "BASE: [a.yaml]")

    with pytest.raises(YamlError, match=r"found a\.yaml -> b\.yaml -> a\.yaml"):
        defaults().merge_from_file(write("a.yaml", "BASE: [b.yaml]\nDATA: {IMG_SIZE: 1}"))


def test_bases_that_double_again_and_again_are_refused(write):
    for number in range(20):
        write(f"{number}.yaml", f"BASE: [{number + 1}.yaml, {number + 1}.yaml]")
    last = write("20.yaml", "{}")

    with pytest.raises(YamlError, match="more than 100 of"):
        CN().merge_from_file(last.with_name("0.yaml"))


def test_a_base_that_is_no_list_of_files_is_a_setting_as_any(write):
    cfg = CN({"BASE": 0.1})

    cfg.merge_from_file(write("a.yaml", "BASE: 0.2"))

    assert cfg.BASE == 0.2


def test_a_missing_file_or_base_is_pythons_error(write):
    with pytest.raises(FileNotFoundError, match=r"none\.yaml"):
        CN().merge_from_file(write("a.yaml", "BASE: [none.yaml]"))


# ------------------------------------------------------------------------------------------------------ hostile files


@pytest.mark.parametrize("way", ["../secret.yaml", "below/../../secret.yaml", "link.yaml", "{folder}/a.yaml"])
def test_a_base_outside_of_the_folder_of_the_first_file_is_refused_and_not_read(write, tmp_path, way):
    write("secret.yaml", "DATA: {IMG_SIZE: 384}")
    write("mine/below/b.yaml", "{}")
    write("mine/a.yaml", "DATA: {IMG_SIZE: 384}")
    (tmp_path / "mine" / "link.yaml").symlink_to(tmp_path / "secret.yaml")
    way = way.format(folder=tmp_path / "mine")
    cfg = defaults()

    with pytest.raises(YamlError, match=r"in the folder mine, by a way from first\.yaml; found .* Try: .*within="):
        cfg.merge_from_file(write("mine/first.yaml", f"BASE: [{way}]"))

    assert cfg == defaults()


def test_bases_of_a_folder_around_both_are_read_for_who_names_that_folder(write, tmp_path):
    cfg = defaults()
    write("base.yaml", "DATA: {IMG_SIZE: 256}")
    path = write("swin/mine.yaml", "BASE: [../base.yaml]")

    with pytest.raises(YamlError, match="the folder swin"):
        cfg.merge_from_file(path)
    cfg.merge_from_file(path, within=tmp_path)

    assert cfg.DATA.IMG_SIZE == 256


def test_a_base_below_may_name_one_above_within_the_folder(write):
    cfg = defaults()
    write("data.yaml", "DATA: {IMG_SIZE: 256}")
    write("models/swin.yaml", "BASE: [../data.yaml]\nDATA: {BATCH_SIZE: 8}")

    cfg.merge_from_file(write("mine.yaml", "BASE: [models/swin.yaml]"))

    assert cfg.DATA == {"IMG_SIZE": 256, "BATCH_SIZE": 8}


@pytest.mark.parametrize(
    "text", ["hunter2:x:0:0", "- hunter2\n- b", "A: *hunter2", "A: !hunter2 1", "A: [hunter2\n- ]b: {", "'hunter2"]
)
@pytest.mark.parametrize(
    "ask",
    [
        lambda path, file: CN().merge_from_file(path),
        lambda path, file: CN().merge_from_file(path.with_name("a.yaml")),
        lambda path, file: CN.load_cfg(file),
    ],
)
def test_what_a_file_says_that_is_none_of_settings_stands_in_no_error(write, text, ask):
    write("a.yaml", "BASE: [b.yaml]")
    path = write("b.yaml", text)

    with path.open() as file, pytest.raises(YamlError, match=r"b\.yaml") as caught:
        ask(path, file)

    assert "hunter2" not in str(caught.value)


def test_a_base_is_a_file_of_yaml_by_its_name(write):
    write(".env", "KEY: 3")

    with pytest.raises(YamlError, match=r"found '\.env'\. Try: a file that ends in \.yaml"):
        CN({"KEY": 0}).merge_from_file(write("a.yaml", "BASE: [.env]"))


def test_a_python_file_is_not_run(write):
    path = write("default.py", "raise SystemExit('it ran')\ncfg = {}")

    for ask in (lambda file: CN().merge_from_file(path), CN.load_cfg):
        refused = pytest.raises(YamlError, match=r"'default\.py'\. Try: from default import cfg, where you trust")
        with path.open() as file, refused:
            ask(file)


@pytest.mark.parametrize("name", ["a.json", "a.txt"])
def test_other_files_are_refused(write, name):
    with write(name, "A: 1").open() as file, pytest.raises(YamlError, match=r"ends in \.yaml"):
        CN.load_cfg(file)


def test_files_of_text_or_bytes_are_read(write):
    path = write("a.yaml", "A: é")

    with path.open(encoding="utf-8") as text, path.open("rb") as data:
        assert CN.load_cfg(text) == CN.load_cfg(data) == {"A": "é"}
    with pytest.raises(YamlError, match="no text in UTF-8"):
        CN().merge_from_file(write("b.yaml", b"A: \xff"))


@pytest.mark.parametrize("given", [3, None, b"A: 1", ["A: 1"]])
def test_load_cfg_takes_a_text_or_a_file(given):
    with pytest.raises(AssertionError, match="load_cfg takes a text or an open file; found"):
        CN.load_cfg(given)


def bomb():
    """Nine times nine times nine ... letters."""
    rows = ["a: &a [x, x, x, x, x, x, x, x, x]"]
    rows += [f"{chr(98 + k)}: &{chr(98 + k)} [{', '.join(['*' + chr(97 + k)] * 9)}]" for k in range(9)]
    return "\n".join(rows)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (bomb(), "letters, with what aliases stand for"),
        (bomb().replace("[", "{k0: ").replace(", ", ", k: ").replace("]", "}"), "aliases stand for|YAML"),
        ("A: &a [*a]", "contains itself, in line 1"),
        ("A: &a {B: *a}", "contains itself, in line 1"),
        ("[" * (MOST_DEEP + 1), "more than 50 deep"),
        ("- " * 100_000, "more than 50 deep"),
        ("x" * (MOST_LETTERS + 1), "at most 200,000 letters"),
        ("A: !!python/object/apply:os.getcwd []", "python/object/apply:os.getcwd"),
        ("A: !!python/name:os.system", "python/name"),
        ("A: 2020-99-99", "month"),
        ("A: " + "9" * 5000, "digits"),
        ("A: [1", r"line 1"),
        ("? [1]\n: 2", "unhashable"),
        ("A: \0", "special characters"),
    ],
)
def test_a_text_that_is_no_yaml_or_too_much_is_refused(text, words):
    with pytest.raises(YamlError, match=words) as caught:
        CN.load_cfg(text)

    assert isinstance(caught.value, yaml.YAMLError)
    assert len(str(caught.value)) < 500


def test_a_date_is_no_setting_and_a_text_in_quotes_is():
    with pytest.raises(AssertionError, match=r"A = datetime.date\(2020, 1, 2\).* Try: the text in quotes"):
        CN.load_cfg("A: 2020-01-02")
    assert CN.load_cfg("A: '2020-01-02'").A == "2020-01-02"


def test_what_is_just_within_the_limits_is_read():
    deep = "[" * (MOST_DEEP - 1) + "]" * (MOST_DEEP - 1)

    assert CN.load_cfg(f"A: {deep}").A is not None
    assert len(CN.load_cfg("A: '" + "x" * (MOST_LETTERS - 100) + "'").A) == MOST_LETTERS - 100
    assert CN.load_cfg("A: &a {B: 1}\nC: {<<: *a, D: *a}").C == {"B": 1, "D": {"B": 1}}
