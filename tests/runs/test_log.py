import random
import threading

from hypothesis import given
from hypothesis import strategies as st

from ai_answers.runs.log import MAX_PENDING, EventLog
from ai_answers.values import Frame


def token(text):
    return Frame(kind="token", data={"text": text})


def part(index, **data):
    return Frame(kind="part", data={"index": index, **data})


class Writer:
    """Appends as the pipeline does: state and frames in one step."""

    def __init__(self):
        self.text = ""
        self.log = EventLog(lambda: {"text": self.text})

    def write(self, text):
        with self.log.step():
            self.text += text
            self.log.append(token(text))


def read(entries, text=""):
    for entry in entries:
        if entry.frame.kind == "snapshot":
            text = entry.frame.data["text"]
        elif entry.frame.kind == "token":
            text += entry.frame.data["text"]
    return text


def test_ids_rise_from_one_and_the_last_frame_ends_it():
    log = EventLog(dict)
    assert [log.append(token("a")), log.append(token("b"))] == [1, 2]
    assert not log.has_ended
    log.append(Frame(kind="done"))
    assert log.has_ended and [e.id for e in log.after(1)] == [2, 3]


@given(st.lists(st.text(min_size=1, max_size=5), min_size=1, max_size=60), st.data())
def test_any_cut_resumes_without_gap_or_repeat(pieces, data):
    writer = Writer()
    seen, text = 0, ""
    for piece in pieces:
        writer.write(piece)
        if data.draw(st.booleans()):
            entries = writer.log.after(seen)
            text = read(entries, text)
            seen = entries[-1].id
    assert read(writer.log.after(seen), text) == "".join(pieces)


def test_an_unknown_or_too_old_id_gets_one_snapshot():
    writer = Writer()
    for number in range(MAX_PENDING + 50):
        writer.write(str(number))
    for strange in (-1, 10**9, 1):
        (entry,) = writer.log.after(strange)
        assert entry.frame.kind == "snapshot" and entry.id == writer.log.last_id
        assert entry.frame.data["text"] == writer.text
    writer.log.append(Frame(kind="done"))
    snapshot, last = writer.log.after(1)
    assert (snapshot.id, last.id) == (last.id - 1, writer.log.last_id)
    assert len(writer.log.after(0)) == MAX_PENDING + 51  # a new reader is not a slow one


def test_only_the_newest_frame_of_a_part_is_kept():
    log = EventLog(dict)
    for html in ("<p>a", "<p>ab", "<p>abc"):
        log.append(part(0, html=html))
    log.append(part(1, html="<ul>"))
    log.append(part(1, html="<li>1", child=[0]))
    log.append(part(1, html="<li>12", child=[0]))
    kept = [(e.id, e.frame.data["html"]) for e in log.after(0)]
    assert kept == [(3, "<p>abc"), (4, "<ul>"), (6, "<li>12")]


def test_a_child_that_made_room_for_later_ones_is_kept():
    log = EventLog(dict)
    log.append(part(0, html="<ul>"))
    log.append(part(0, html="<li>a", child=[0]))
    log.append(part(0, html="<li>b", child=[1]))
    log.append(part(0, html="<li>A", child=[0]))
    assert [e.frame.data.get("child") for e in log.after(1)] == [[0], [1], [0]]
    log.append(part(0, html="<ul>all"))
    assert [e.frame.data["html"] for e in log.after(1)] == ["<ul>all"]


def test_readers_on_other_threads_see_one_consistent_text():
    writer = Writer()
    texts = []

    def reader():
        seen, text, news = 0, "", threading.Event()
        writer.log.subscribe(news.set)
        while True:
            news.clear()
            # Now and then a reader that lost its place.
            entries = writer.log.after(seen if random.random() > 0.1 else -1)
            text = read(entries, text)
            seen = entries[-1].id if entries else seen
            if entries and entries[-1].frame.is_last:
                texts.append(text)
                return
            news.wait(5)

    readers = [threading.Thread(target=reader) for _ in range(4)]
    for thread in readers:
        thread.start()
    for number in range(2000):
        writer.write(f"{number} ")
    writer.log.append(Frame(kind="done"))
    for thread in readers:
        thread.join()
    assert texts == [writer.text] * 4
