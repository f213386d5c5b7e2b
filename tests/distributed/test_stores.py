"""Stores: four kinds keep the same promises, and a server outlives whatever it is sent."""

import contextlib
import pickle
import re
import socket
import threading
import time

import pytest

import jt_edu as jt
from jt_edu.distributed import tcp_store
from jt_edu.distributed.launch import kept_port
from jt_edu.distributed.store_server import LENGTH, packed
from jt_edu.mpi.base.errors import RankTimeoutError
from tests.distributed.ranks import LONG, dist, together, until

KINDS = ("hash", "file", "tcp", "prefix")


@pytest.fixture(params=KINDS)
def clients(request, tmp_path):
    """A function that answers another client of the same store."""
    made = []

    def client():
        if request.param in ("hash", "prefix"):
            base = made[0] if made else dist.HashStore(timeout=LONG)
            store = base
        elif request.param == "file":
            store = dist.FileStore(tmp_path / "store", timeout=LONG)
        else:
            store = dist.TCPStore("127.0.0.1", made[0].port if made else 0, is_master=not made, timeout=LONG)
        made.append(store)
        return dist.PrefixStore("part", store) if request.param == "prefix" else store

    yield client
    for store in reversed(made):
        store.close()


def test_what_one_sets_the_other_gets(clients):
    here, there = clients(), clients()

    here.set("text", "äß")
    here.set("bytes", b"\0\xff")

    assert there.get("text") == "äß".encode() and there.get("bytes") == b"\0\xff"


def test_a_get_waits_for_its_key(clients):
    here, there = clients(), clients()
    setter = threading.Timer(0.02, lambda: here.set("late", "1"))

    setter.start()
    found = there.get("late")
    setter.join()

    assert found == b"1"


def test_a_wait_that_takes_too_long_names_the_keys(clients):
    store = clients()
    store.set("there", "1")

    with pytest.raises(RankTimeoutError, match=r"nobody did within 0\.05 s") as caught:
        store.wait(["there", "absent", "away"], 0.05)

    assert "absent" in str(caught.value) and "away" in str(caught.value) and "there," not in str(caught.value)


def test_eight_clients_that_add_again_and_again_lose_none(clients):
    stores = [clients() for _ in range(8)]
    times = 100 if isinstance(stores[0], dist.FileStore | dist.TCPStore) else 1000

    together([lambda store=store: [store.add("n", 1) for _ in range(times)] for store in stores])

    assert stores[0].add("n", 0) == 8 * times and stores[0].get("n") == str(8 * times).encode()


def test_add_counts_down_too_and_refuses_what_is_no_number(clients):
    store = clients()
    store.set("word", "seven")

    assert (store.add("n", 5), store.add("n", -7)) == (5, -2)
    with pytest.raises(jt.ArgumentError, match="seven"):
        store.add("word", 1)


def test_compare_set_sets_what_is_as_expected(clients):
    store = clients()

    assert store.compare_set("a", "", "x") == b"x"  # is not there
    assert store.compare_set("a", "y", "z") == b"x"  # holds something else
    assert store.compare_set("a", "x", "w") == b"w"
    assert store.compare_set("b", "q", "z") == b"q" and not store.check(["b"])  # not there, though expected


def test_delete_key_tells_whether_there_was_one(clients):
    store = clients()
    store.set("a", "1")

    assert (store.delete_key("a"), store.delete_key("a"), store.check(["a"])) == (True, False, False)


def test_num_keys_counts_keys(clients):
    store = clients()
    store.set("a", "1")
    store.add("b", 1)

    assert store.num_keys() == 2


@pytest.mark.parametrize("call", [
    lambda s: s.set(1, "x"), lambda s: s.set("k", 1.5), lambda s: s.add("k", "1"), lambda s: s.add("k", True),
    lambda s: s.wait("key"), lambda s: s.get("k" * 5000), lambda s: s.wait(["k"], -1), lambda s: s.set_timeout(0),
])  # fmt: skip
def test_a_store_refuses_what_is_no_key_value_number_or_time(clients, call):
    with pytest.raises(jt.ArgumentError):
        call(clients())


def test_prefixes_keep_stores_apart():
    whole = dist.HashStore()
    a, b = dist.PrefixStore("a", whole), dist.PrefixStore("b", whole)
    a.set("key", "1")

    assert a.check(["key"]) and not b.check(["key"]) and dist.PrefixStore("x", a)._at("k") == "x/k"
    assert whole.get("a/key") == b"1"


class Half(dist.Store):
    """A store of one's own, with two methods of eight."""

    def __init__(self):
        super().__init__()
        self.table = {}

    def _set(self, key, value):
        self.table[key] = value

    def _missing(self, keys):
        return [k for k in keys if k not in self.table]


@pytest.mark.parametrize(("call", "wanted"), [
    (lambda s: s.get("k"), "_get(self, key, seconds)"),
    (lambda s: s.add("k", 1), "_add(self, key, amount)"),
    (lambda s: s.wait(["k"]), "_wait(self, keys, seconds)"),
    (lambda s: s.compare_set("k", "", "x"), "_compare_set(self, key, expected, desired)"),
    (lambda s: s.delete_key("k"), "_delete(self, key)"),
    (lambda s: s.num_keys(), "num_keys(self)"),
])  # fmt: skip
def test_a_store_of_ones_own_that_lacks_a_method_says_what_to_write(call, wanted):
    name = wanted.partition("(")[0]
    words = re.escape(
        f"{name} is done by a store that can; found Half, which has no {name}. Try: def {wanted}: ... in Half"
    )

    for store in (Half(), dist.PrefixStore("part", Half())):
        store.set("k", "x")
        assert store.check(["k"]) and not store.check(["l"])
        with pytest.raises(jt.RankError, match=words):
            call(store)


def test_a_store_without_any_method_says_so_of_set_and_check_too():
    for call, name in ((lambda s: s.set("k", "x"), "_set"), (lambda s: s.check(["k"]), "_missing")):
        with pytest.raises(jt.RankError, match=f"found Store, which has no {name}"):
            call(dist.Store())


def test_simulated_ranks_give_way_while_they_wait_for_a_key():
    store = dist.HashStore()

    def program(comm):
        if comm.rank == 0:
            return store.get("from 2")
        return store.set(f"from {comm.rank}", str(comm.rank))

    assert jt.simulate(3)(program)[0] == b"2"


def test_simulated_ranks_that_wait_for_a_key_in_vain_are_told():
    store = dist.HashStore(timeout=5)

    with pytest.raises(RankTimeoutError, match="never"):
        jt.simulate(2)(lambda comm: store.get("never"))


# files


def test_half_a_record_that_a_killed_writer_left_is_cut_off(tmp_path):
    path = tmp_path / "store"
    store = dist.FileStore(path)
    store.set("a", "1")
    with path.open("ab") as file:
        file.write(b"\x05\x00\x00\x00\xff")

    store.set("b", "2")

    fresh = dist.FileStore(path)
    assert fresh.get("a") == b"1" and fresh.get("b") == b"2"


def test_the_last_rank_that_closes_takes_the_file_away(tmp_path):
    path = tmp_path / "store"
    first, second = dist.FileStore(path, 2), dist.FileStore(path, 2)

    first.close()
    assert path.exists()
    second.close()

    assert not path.exists()


def test_a_file_that_cannot_be_made_is_named(tmp_path):
    with pytest.raises(jt.ArgumentError, match="nowhere"):
        dist.FileStore(tmp_path / "nowhere" / "store")


# servers


@pytest.fixture
def master():
    store = dist.TCPStore("127.0.0.1", 0, is_master=True, timeout=LONG)
    yield store
    store.close()


@pytest.mark.parametrize("garbage", [
    b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    LENGTH.pack(0xFFFFFFFF),  # a frame of 4 GB
    LENGTH.pack(0),
    LENGTH.pack(5) + b"\x00\xff\xff\xff\xff",  # a part that is longer than its frame
    packed(0),  # nothing to set
    packed(2, b"n", b"not a number"),
    packed(3, b"99999999999999999999999999", b"key"),  # a wait of longer than the universe
    packed(1, b"soon", b"key"),
    packed(9, b"10", b"many"),
    packed(77, b"what"),
    packed(0, b"\xff\xfe", b"value"),
    b"\x10",
])  # fmt: skip
def test_a_server_outlives_whatever_it_is_sent(master, garbage):
    with socket.create_connection(("127.0.0.1", master.port)) as stranger:
        stranger.sendall(garbage)
        stranger.settimeout(0.05)
        with contextlib.suppress(OSError):
            stranger.recv(100)
        master.set("key", "value")

        assert master.get("key") == b"value"


@pytest.mark.parametrize("garbage", [LENGTH.pack(0xFFFFFFFF), LENGTH.pack(0), packed(77), packed(0)])
def test_who_breaks_the_rules_is_cut_off(master, garbage):
    with socket.create_connection(("127.0.0.1", master.port), timeout=LONG) as stranger:
        stranger.sendall(garbage)

        assert stranger.recv(100) == b""


def test_a_client_that_asks_and_never_reads_does_not_stop_the_others(master):
    master.set("big", b"x" * 1_000_000)
    with socket.create_connection(("127.0.0.1", master.port)) as lazy:
        lazy.settimeout(1)
        with contextlib.suppress(OSError):  # it may be cut off
            for _ in range(300):
                lazy.sendall(packed(1, b"1000", b"big"))

        assert master.get("big")[:1] == b"x"


def test_a_client_that_leaves_while_it_waits_does_no_harm(master):
    with socket.create_connection(("127.0.0.1", master.port)) as gone:
        gone.sendall(packed(1, b"60000", b"later"))
    time.sleep(0.05)

    master.set("later", "1")

    assert master.get("later") == b"1"


def test_workers_wait_for_each_other():
    master = dist.TCPStore("127.0.0.1", 0, 3, is_master=True, timeout=LONG, wait_for_workers=False)
    stores, order = [], []

    def worker(name):
        if name == "late":
            until(lambda: master._server._joined == 2)  # the master, and the other one
            time.sleep(0.1)  # in which that one could go on, if it did not wait
        order.append(f"{name} comes")
        stores.append(dist.TCPStore("127.0.0.1", master.port, 3, timeout=LONG))
        order.append(f"{name} goes on")

    together([lambda: worker("early"), lambda: worker("late")])

    assert order[:2] == ["early comes", "late comes"] and len(stores) == 2
    for store in [*stores, master]:
        store.close()


def test_a_worker_that_does_not_come_is_missed_in_time():
    with pytest.raises(RankTimeoutError, match=r"2 ranks come to the store; found 1 within 0\.2 s"):
        dist.TCPStore("127.0.0.1", 0, 2, is_master=True, timeout=0.2)


def test_a_master_that_is_not_there_is_named():
    with kept_port() as port, pytest.raises(RankTimeoutError, match=f"127.0.0.1:{port}"):
        dist.TCPStore("127.0.0.1", port, timeout=0.2)


def test_a_port_that_is_taken_is_named(master):
    with pytest.raises(jt.RankError, match=str(master.port)):
        dist.TCPStore("127.0.0.1", master.port, is_master=True)


def test_a_client_whose_server_is_gone_is_told():
    master = dist.TCPStore("127.0.0.1", 0, is_master=True)
    worker = dist.TCPStore("127.0.0.1", master.port)
    master.close()

    with pytest.raises(jt.RankError, match="answers"):
        worker.set("a", "b")

    worker.close()


def test_a_client_that_was_interrupted_does_not_take_an_old_answer_for_a_new_one(master, monkeypatch):
    store = dist.TCPStore("127.0.0.1", master.port)
    real = tcp_store.exactly

    def interrupted(connection, size):
        raise KeyboardInterrupt

    monkeypatch.setattr(tcp_store, "exactly", interrupted)
    with pytest.raises(KeyboardInterrupt):
        store.add("n", 1)
    monkeypatch.setattr(tcp_store, "exactly", real)

    with pytest.raises(jt.RankError, match="answers"):
        store.add("n", 10)
    store.close()


def test_a_store_listens_at_an_address_of_version_6_too():
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("no IPv6 here")
    master = dist.TCPStore("::1", 0, is_master=True)
    master.set("a", "b")

    assert master.get("a") == b"b" and master.address == "::1"
    master.close()


def test_nothing_that_comes_from_a_store_is_unpickled(master, monkeypatch):
    monkeypatch.setattr(pickle, "loads", lambda *a, **k: pytest.fail("unpickled"))

    master.set("bomb", b"\x80\x04cos\nsystem\n")

    assert master.get("bomb").startswith(b"\x80")
