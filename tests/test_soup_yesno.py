"""Reading yes, no and unknown: every reply that the released parser gets wrong, and what people and models write."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluators.protocols.soup.yesno import plain, yes_or_no
from evaluators.replies import UnreadableError

YES = ["Yes", "yes.", "YES!", "**Yes**", '"Yes"', "Yes, because he had seen it.", "Yes <Key Clue>", "Correct", "That is correct.", "True", "Right.", "Indeed", "Answer: Yes", "The answer is yes.", "Let me think about the text.\nAnswer: yes", '{"answer": "yes"}', '```json\n{"answer": "Yes."}\n```', "是", "是的", "是。", "是的，他知道。", "对", "对的", "没错", "有", "答案：是", "回答：“是的”", "正確", "yes - he did", "Yes\n", "是<关键线索>", "不错"]  # fmt: skip # noqa: E501
NO = ["No", "no.", "No, because he never left.", "Nope", "incorrect", "Incorrect.", "That is incorrect", "That's not correct.", "false", "Not true", "Wrong.", "no <Key Clue>", "The answer is: No", '{"answer": "no"}', '{"key_clue": true, "answer": "No"}', "不是", "不是。", "不是，他没有来。", "没有", "没有。", "不", "否", "不对", "不正确", "错", "错误", "不会", "沒有", "答案：不是", "并非如此", "No. He was alone.", "No — never", "非"]  # fmt: skip # noqa: E501
UNKNOWN = ["Unknown", "unknown.", "UNKNOWN", "Unknown <Key Clue>", "Not sure", "not sure, it may be", "I'm not sure.", "Irrelevant", "irrelevant.", "It is unknown.", "That is not mentioned.", "I don't know", "I cannot say.", "Cannot be determined", "No idea", "No information about that", "Doesn't matter", "Unclear", "The answer is unknown.", '{"answer": "unknown"}', '{"answer": "Unknown."}', "未知", "未知。", "无关", "无关紧要", "不知道", "不确定", "没有关系", "没关系", "無關", "不一定", "无法确定", "没有提到", "不重要", "答案：未知", "与故事无关", "不相关"]  # fmt: skip # noqa: E501
UNREADABLE = ["", "   ", "...", "Yes and no", "Yes/No", "yes or no?", "Yes, no", "Maybe", "I'm sorry, but I can't help with that.", "I cannot answer that question.", "As an AI, no.", "No one was there", "Nobody", "north", "nothing", "know", "Now", "Right now he sleeps", "yesterday", "truely", "是不是", "是不是他？", "是也不是", "对不起，我无法回答。", "我不能回答这个问题", "有没有", "有人死了", "{}", '{"answer": "maybe"}', '{"answer": "yes"} {"answer": "no"}', '{"answer": 1}', '{"answer": "yes"', "是，不是"]  # fmt: skip # noqa: E501
TABLE = [*((t, "yes") for t in YES), *((t, "no") for t in NO), *((t, "unknown") for t in UNKNOWN), *((t, None) for t in UNREADABLE)]  # fmt: skip # noqa: E501


def test_the_table_is_as_long_as_the_issue_asks() -> None:
    assert len(TABLE) >= 60
    assert len({text for text, _ in TABLE}) == len(TABLE)


@pytest.mark.parametrize(("text", "answer"), TABLE)
def test_every_reply_is_read_for_what_it_is(text: str, answer: str | None) -> None:
    if answer is None:
        with pytest.raises(UnreadableError):
            yes_or_no(text)
    else:
        assert yes_or_no(text).answer == answer


@given(st.text(max_size=300))
def test_no_text_crashes_the_reader(text: str) -> None:
    assert plain(text) in ("yes", "no", "unknown", None)


@given(st.sampled_from(["yes", "no", "unknown"]), st.text(alphabet=" .,!\n\t*\"'", max_size=8))
def test_marks_around_an_answer_change_nothing(word: str, marks: str) -> None:
    assert plain(marks + word + marks) == word
