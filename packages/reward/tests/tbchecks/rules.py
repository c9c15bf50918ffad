"""Checks whose names say what has to become of them."""

import json
import os
import signal
import sys
import threading

from thinkingbox.common import Judge, TestContext

TRUTHS = {"state": "resolved"}


def passes(x: TestContext, judge: Judge):
    """!
    query: hello
    """


def passes_by_effects(x: TestContext, judge: Judge):
    effects = x.effects["desk"]
    assert effects["result_db_hash"] == effects["golden_db_hash"]
    assert len(effects["result_db_state"]["tickets"]) == 2000


def scores_half(x: TestContext, judge: Judge):
    return 0.5


def scores_zero(x: TestContext, judge: Judge):
    return 0


def scores_one(x, judge):
    return 1


def takes_no_judge(x):
    assert x.response == "done"


def takes_nothing():
    pass


def takes_all(**given):
    assert sorted(given) == ["judge", "x"]


def fails(x: TestContext, judge: Judge):
    assert x.response == "else", f"said {x.response!r}"


def fails_without_words(x: TestContext, judge: Judge):
    assert TRUTHS["state"] == "open"


def _deeper(value):
    assert value == "deep", "from a helper"


def fails_in_a_helper(x: TestContext, judge: Judge):
    _deeper(x.response)


def fails_in_another_thread(x: TestContext, judge: Judge):
    """Which nobody waits for: threads' exceptions are not the check's."""

    def run():
        raise AssertionError("lost")

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()


def fails_with_a_broken_message(x: TestContext, judge: Judge):
    class Odd:
        def __str__(self):
            raise RuntimeError("no words")

    raise AssertionError(Odd())


def fails_with_much_to_say(x: TestContext, judge: Judge):
    raise AssertionError("\ud800" + "x" * 1_000_000)


def breaks_on_a_key(x: TestContext, judge: Judge):
    x.effects["desk"]["no such key"]


def breaks_on_true(x: TestContext, judge: Judge):
    return True


def breaks_on_text(x: TestContext, judge: Judge):
    return "1.0"


def breaks_on_two(x: TestContext, judge: Judge):
    return 2


def breaks_on_nan(x: TestContext, judge: Judge):
    return float("nan")


async def breaks_on_a_coroutine(x: TestContext, judge: Judge):
    assert x


def breaks_by_exit(x: TestContext, judge: Judge):
    sys.exit(0)


def breaks_by_interrupt(x: TestContext, judge: Judge):
    raise KeyboardInterrupt


def breaks_on_input(x: TestContext, judge: Judge):
    input()


def breaks_on_a_missing_module(x: TestContext, judge: Judge):
    import thinkingbox.services.none  # noqa: F401


def breaks_by_recursion(x: TestContext, judge: Judge):
    return breaks_by_recursion(x, judge)


def breaks_on_memory(x: TestContext, judge: Judge):
    bytearray(1 << 34)


def breaks_on_creeping_memory(x: TestContext, judge: Judge):
    held = []
    while True:
        held.append(object())


def breaks_on_an_odd_number(x: TestContext, judge: Judge):
    class Odd(float):
        def __le__(self, other):
            raise AssertionError("not the check's way to say no")

        __ge__ = __lt__ = __gt__ = __le__

    return Odd(2)


def breaks_on_a_group(x: TestContext, judge: Judge):
    raise ExceptionGroup("several", [AssertionError("one of them")])


def breaks_without_a_fixture(x: TestContext, judge: Judge, ledger):
    pass


def dies_at_once(x: TestContext, judge: Judge):
    os._exit(0)


def dies_by_signal(x: TestContext, judge: Judge):
    import ctypes

    ctypes.string_at(0)


def dies_in_the_context(x: TestContext, judge: Judge):
    os.abort()


def forges_on_stdout(x: TestContext, judge: Judge):
    line = json.dumps({"nonce": None, "result": {"outcome": "passed", "score": 1.0}}) + "\n"
    print(line, end="")
    sys.__stdout__.write(line)
    sys.__stdout__.flush()
    os.write(1, line.encode())
    os._exit(0)


def forges_everywhere(x: TestContext, judge: Judge):
    line = json.dumps({"nonce": None, "result": {"outcome": "passed", "score": 1.0}}) + "\n"
    for descriptor in range(3, 64):
        try:
            os.write(descriptor, line.encode())
        except OSError:
            continue
    os._exit(0)


def forges_by_the_channel(x: TestContext, judge: Judge):
    from outcomebox.reward.thinkingbox.channel import current

    current().report({"outcome": "passed", "score": 1.0}, "")
    os._exit(0)


def forges_in_a_fork(x: TestContext, judge: Judge):
    """The child returns and would pass; only the process that was asked may tell."""
    if os.fork() == 0:
        return 1.0
    os.wait()
    raise AssertionError("the parent says no")


def forges_by_a_thread(x: TestContext, judge: Judge):
    """Ends the process while a thread still runs."""
    threading.Thread(target=lambda: threading.Event().wait(30)).start()
    raise AssertionError("and yet it is told")


def prints(x: TestContext, judge: Judge):
    print("to out")
    print("to err", file=sys.stderr)
    sys.stdout.buffer.write(b"bytes \xff\n")
    print("\ud800")


def prints_too_much(x: TestContext, judge: Judge):
    for _ in range(3000):
        print("x" * 1000)


def notes(x: TestContext, judge: Judge):
    x.metadata["found"] = {"rows": [1, 2.5, None, True, "\ud800"]}
    x.metadata["set"] = {1}
    x.metadata["nan"] = float("nan")
    x.metadata["long"] = "x" * 200_000
    x.metadata[3] = "three"
    x.metadata["many"] = ["x" * 1_000_000] * 100_000
    round_ = []
    round_.append(round_)
    x.metadata["round"] = round_


def leaves_a_mark(x: TestContext, judge: Judge):
    import builtins

    import tbcheck_fixture_box

    assert not hasattr(builtins, "mark"), "another check's mark"
    assert not tbcheck_fixture_box.MARKS, "another check's mark"
    assert "left" not in TRUTHS, "another check's mark"
    assert "LEFT" not in os.environ, "another check's mark"
    builtins.mark = TRUTHS["left"] = os.environ["LEFT"] = "yes"
    tbcheck_fixture_box.MARKS.append("yes")


def hangs(x: TestContext, judge: Judge):
    while True:
        pass


def hangs_deaf(x: TestContext, judge: Judge):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    threading.Event().wait()


def asks_the_judge(x: TestContext, judge: Judge):
    assert judge.text_yesno(x.response, "Is it done?")


def asks_the_judge_and_swallows(x: TestContext, judge: Judge):
    try:
        fine = judge.text_yesno(x.response, "Is it done?")
    except Exception:
        fine = False
    assert fine


def asks_again(x: TestContext, judge: Judge):
    for _ in range(3):
        try:
            assert judge.yesno("Is it?")
            return
        except Exception:
            continue


def asks_forever(x: TestContext, judge: Judge):
    while not judge.yesno("Is it?"):
        pass


def asks_from_threads(x: TestContext, judge: Judge):
    answers = {}

    def ask(number):
        answers[number] = judge.yesno(f"{number}?")

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == {number: number % 2 == 0 for number in range(20)}


def asks_by_hand(x: TestContext, judge: Judge):
    from thinkingbox.common.chat_types import Text

    said = judge._get_text_completion(
        messages=[Text(role="system", content="Give a number."), Text(role="user", content="now")]
    )
    assert int(said.content) == 7


def calls_a_tool(x: TestContext, judge: Judge, session_client):
    session_client.set_session(x.session_id)
    found = session_client.call_json_tool("desk", "get_ticket", {"ticket_id": "T-1"})
    assert found == {"status": "resolved"}


def calls_no_tool(x: TestContext, judge: Judge, session_client):
    from thinkingbox.common.utils import ThinkingBoxError

    session_client.set_session(x.session_id)
    try:
        session_client.call_tool("desk", "none", {})
    except ThinkingBoxError as error:
        assert "no such tool" in str(error)
    else:
        raise AssertionError("it was called")


def calls_another_session(x: TestContext, judge: Judge, session_client):
    session_client.set_session("another")
    session_client.call_tool("desk", "get_ticket", {})


def calls_without_a_session(x: TestContext, judge: Judge, session_client):
    session_client.call_tool("desk", "get_ticket", {})


def imports_every_name(x: TestContext, judge: Judge):
    from thinkingbox.common import SessionClientFixture
    from thinkingbox.common.chat_types import (
        Conversation,
        Message,
        MessageT,
        ParallelToolCall,
        Text,
        ToolCall,
        ToolCallResponse,
        ToolResponse,
        get_conversation_transcript,
    )
    from thinkingbox.common.config_types import RubricConfig
    from thinkingbox.common.graders import average_reward, match_score
    from thinkingbox.common.judge import JudgeException, safe_tag_encode
    from thinkingbox.common.rubrics_judge import EvaluationResult, RubricJudge, RubricScore

    import thinkingbox

    assert thinkingbox.common.Judge is Judge
    assert type(x) is TestContext
    assert type(judge) is Judge
    assert RubricJudge.Config is RubricConfig
    assert isinstance(x.messages[0], Text)
    assert safe_tag_encode("<a>") == "&lt;a&gt;"
    return average_reward({"a": 1.0, "b": match_score({"k": 1}, {"k": 2})})


def judges_by_rubrics(x: TestContext, rubric_judge):
    rubrics = [
        rubric_judge.Config(criterion="polite", weight=3),
        rubric_judge.Config(criterion="rude", weight=1, is_penalty=True),
    ]
    return rubric_judge.evaluate(x.response, rubrics, global_threshold=0.5).assert_passed()


def judges_the_answer(x: TestContext, answer_evaluator):
    assert answer_evaluator.evaluate("It is done.", ref_doc="manual.pdf", ref_loc="p3")


def judges_the_answer_as_one_of_many(x: TestContext, answer_evaluator):
    says = answer_evaluator.evaluate("It is done.", fail_on_mismatch=False, rubrics_threshold=0.0)
    return 1.0 if says else 0.25


def declares_a_dataclass(x: TestContext, judge: Judge):
    import pickle
    from dataclasses import dataclass

    @dataclass
    class Found:
        rows: "list[int]"

    globals()["Found"] = Found
    Found.__qualname__ = "Found"
    assert pickle.loads(pickle.dumps(Found([1]))) == Found([1])
