"""The sentences of netstat -s become counters under the kernel's names; unknown ones keep their words."""

from tests.support.canned_counters import NETSTAT_S
from tuneproof.explain.parse.counters.netstat_s import snapshots
from tuneproof.explain.parse.counters.sentences import SENTENCES


def test_known_sentences_have_the_kernels_names() -> None:
    """Wherever in the sentence the number stands, and where net-tools has no sentence, too."""
    (snapshot,) = snapshots(NETSTAT_S)
    assert snapshot.source == "netstat -s"
    assert snapshot.omits_zeros
    assert {
        "Ip.Forwarding": 1,
        "Ip.InReceives": 7_468_136,
        "IcmpMsg.InType3": 4,
        "Tcp.RetransSegs": 17440,
        "Tcp.OutSegs": 7_381_236,
        "TcpExt.ListenOverflows": 11612,
        "TcpExt.ListenDrops": 11612,
        "TcpExt.Quick ack mode was activated # times": 9939,
        "TcpExt.TCPTimeouts": 5978,
    }.items() <= snapshot.counters.items()


def test_unknown_sentences_are_kept_by_their_words() -> None:
    """ICMP's two histograms say the same words; what they count stands before them."""
    (snapshot,) = snapshots(NETSTAT_S)
    assert {name: value for name, value in snapshot.counters.items() if name.startswith("Icmp.")} == {
        "Icmp.# ICMP messages received": 4,
        "Icmp.ICMP input histogram: destination unreachable: #": 4,
        "Icmp.# ICMP messages sent": 15,
        "Icmp.ICMP output histogram: destination unreachable: #": 15,
    }


def test_older_spellings_are_the_same_counters() -> None:
    """net-tools 1.60 wrote some words otherwise, and full stops."""
    (snapshot,) = snapshots("Tcp:\n    30 segments send out\n    7 segments retransmited\n    2 resets sent.\n")
    assert snapshot.counters == {"Tcp.OutSegs": 30, "Tcp.RetransSegs": 7, "Tcp.OutRsts": 2}


def test_no_sentence_stands_for_two_counters() -> None:
    assert len({(protocol, sentence) for protocol, _, sentence in SENTENCES}) == len(SENTENCES)
    assert [sentence for _, _, sentence in SENTENCES if sentence.split().count("#") != 1] == []


def test_a_loop_is_split_at_sections_that_come_again() -> None:
    """The date between belongs to what follows; a sentence without a number is kept as a line."""
    first, second = snapshots(f"{NETSTAT_S}Thu Nov 20\n{NETSTAT_S}\n    Forwarding is enabled\n")
    assert first.labels == ()
    assert second.labels == ("Thu Nov 20", "Forwarding is enabled")
