from thinkingbox.common import Judge, TestContext

"""!
scenario: till
user_context: You are Kim and want 5 paid into a.
"""


def pays(x: TestContext, judge: Judge):
    """!
    query: Please pay 5 into a.
    init:
      till:
        golden_test_case:
          tool_interactions:
            - {tool: balance, parameters: {account: a}}
            - {tool: pay, parameters: {account: a, amount: 5}}
    """
    told = x.effects["till"]
    assert told["result_db_hash"] == told["golden_db_hash"], "the till differs"


def remembers(x: TestContext, judge: Judge):
    """!
    query: "{init[till][clerk][name]}, please pay 5 into a."
    user_context: "You know {init[till][clerk][name]}."
    bot_instructions: "You are {init[till][clerk][name]}."
    format_query: true
    history: "earlier:0:"
    """
    assert x.effects["till"]["entries"] == [["a", 1], ["a", 5]], "the history was not made again"
    assert x.init_result["till"]["session"] == x.session_id
    assert [m.T for m in x.messages[:4]] == ["Text", "Text", "Text", "Text"]
    assert [m.role for m in x.messages[:2]] == ["system", "system"]
    assert x.query() == "Is there money in a?"
    assert x.transcript().count("User:") == 2


def sees(x: TestContext, judge: Judge):
    """!
    query: Please tell everybody that we close.
    """
    x.metadata["response"] = x.response
    x.metadata["direct"] = x.tool_direct_responses
    x.metadata["calls"] = [
        [each.tool_call.name, each.tool_call.arguments, each.tool_response.content]
        for each in x.tool_calls
    ]
    x.metadata["messages"] = [[m.T, getattr(m, "content", "")] for m in x.messages]
    x.metadata["transcript"] = x.transcript()
    x.metadata["entries"] = x.effects["till"]["entries"]
    x.metadata["env"] = x.effects["till"]["env"]


def asks(x: TestContext, judge: Judge):
    """!
    query: Please be kind.
    """
    assert judge.text_yesno(x.response, "Is the agent kind?")


def breaks(x: TestContext, judge: Judge):
    """!
    query: Please pay 5 into a.
    """
    raise KeyError("a check with a mistake")


def alone(x: TestContext, judge: Judge):
    """!
    query: Please pay 5 into a.
    user_context: ""
    """


def skipped(x: TestContext, judge: Judge):
    """!
    query: Please pay 5 into a.
    tags: [skip]
    """
