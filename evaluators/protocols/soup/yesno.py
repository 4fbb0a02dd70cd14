"""Reads yes, no or unknown out of a Responder's reply, in English and Chinese, and refuses to guess.

A substring is never an answer: "unknown" holds a "no", "incorrect" a "correct", 不是 a 是. What cannot be read is asked
for once more, and then the game fails; it is never turned into one of the three.
"""

import re
import unicodedata

from builders.values import Value
from evaluators.answers import YesNo
from evaluators.replies import UnreadableError, read

_SIMPLER = str.maketrans("無關沒對錯確係說準會", "无关没对错确系说准会")
_TAG = re.compile(r"<[^<>]{0,40}>")
_EDGES = " \t\n\r*_`#>~\"'“”‘’「」『』《》()（）[]【】.,;:!?。，；：！？、-–—"
# What stands before an answer: "The answer is", 答案：
_LEAD = re.compile(
    r"(?:(?:the|my|final|correct)\s+)*answer\b(?:\s+is\b|\s*[:=])?"
    r"|(?:最终)?(?:答案|回答|答)(?:是[:：]|为|[:：]|是(?=[“\"']))"
)
_SAID_LAST = re.compile(r"(?:answer(?:\s+is|\s*:)|(?:答案|回答)(?:是[:：]|为|[:：]))\s*([^\n]{1,60})$")
_REFUSAL = re.compile(
    r"(?:i'?m |i am )?(?:sorry|unable)|as an ai"
    r"|i (?:can't|cannot|can not|won't|will not|must not|am not able)(?! (?:say|tell|know|determine|be sure|confirm))"
    r"|抱歉|对不起|很遗憾|我?(?:无法|不能|不便|拒绝)(?:直接)?(?:回答|提供|回应|讨论)"
)
# What may follow a word that is an answer: nothing, a mark, or the start of an explanation.
_AFTER = r"(?=$|[.,;:!?\n(—–]|\s*-(?!\w)|\s+[—–]|\s+(?:because|since|as|but|he|she|it|they|that|this|the|there)\b)"
_MARK = r"(?=$|[，。！？；：、,.!?;:\s（(])"
_IT_IS = r"(?:(?:it|that|this)(?:'s| is) )?"


def _any(*forms: str) -> str:
    return f"(?:{'|'.join(forms)})"


_ENGLISH: tuple[tuple[YesNo, str], ...] = (
    (
        "unknown",
        _any(
            rf"(?:{_IT_IS}|i'm |i am )(?:completely |simply )?"
            r"(?:unknown|unsure|uncertain|unclear|irrelevant|unrelated|undetermined|indeterminate|unspecified)\b",
            rf"(?:{_IT_IS}|i'm |i am )"
            r"not (?:known|sure|certain|clear|relevant|mentioned|stated|specified|related|important|determined)\b",
            r"(?:i |one |it )?(?:can't|cannot|can not)(?: be)? "
            r"(?:say|said|tell|told|know|known|determined?|sure|inferred|infer|confirmed|confirm)\b",
            r"(?:i )?(?:don't|do not) know\b",
            r"no (?:idea|information|way (?:to (?:know|tell)|of knowing))\b",
            r"impossible to (?:say|tell|know|determine)\b",
            r"(?:it )?(?:doesn't|does not) matter\b",
            r"n/a\b",
        ),
    ),
    (
        "no",
        _any(
            "no|nope|nah|negative",
            rf"{_IT_IS}(?:false|incorrect|wrong|untrue|not (?:correct|true|right|the case))",
        )
        + _AFTER,
    ),
    ("yes", _any("yes|yeah|yep|yup|affirmative|indeed", rf"{_IT_IS}(?:true|correct|right)") + _AFTER),
)
_CHINESE: tuple[tuple[YesNo, str], ...] = (
    ("yes", rf"(?:没错|不错){_MARK}"),
    (
        "unknown",
        r"(?:这|此|它|这一点)?(?:与(?:故事|谜底|剧情)?)?"
        + _any(
            "未知|不知道|不清楚|不确定|不一定|不明|不好说|说不准|不详|无从",
            "(?:无法|不能|难以)(?:确定|判断|得知|知道|确认|推断)",
            "无关|不相关|没有?关[系联]|不重要",
            "未提及|没有?提[到及]|没有?说明",
        ),
    ),
    (
        "no",
        _any(
            r"不是(?!没有|吗|么)|不对(?!吗)|不正确|不会|没有(?!错|吗)|并非|并不|并没|错误|不成立",
            rf"(?:不|没|非|否|错|错的|错了|假|假的){_MARK}",
        ),
    ),
    ("yes", _any("是的|对的|有的|正确|成立", rf"(?:是|对|有|会|能|可以|真|真的){_MARK}")),
)
_ORDER = tuple((answer, re.compile(pattern)) for answer, pattern in (*_ENGLISH, *_CHINESE))
_QUESTION = re.compile(r"是不是|是否|有没有|对不对|会不会|能不能|不是没有|是也不是")
_OTHER = re.compile(r"^[\s,.;:!?/、，。]*(?:and|or|but|also|maybe|又|也|或者?|但也?|还是)?[\s,/、，]*")


class YesNoReply(Value):
    """Form of a Responder's reply."""

    answer: YesNo


class _Said(Value):
    answer: str


def yes_or_no(text: str) -> YesNoReply:
    """Read a Responder's whole reply: a JSON object with `answer`, or plain words.

    Raises:
        evaluators.replies.UnreadableError: If it is not plainly one of yes, no and unknown.
    """
    words = read(text, _Said).answer if "{" in text else text
    answer = plain(words)
    if answer is None:
        raise UnreadableError("The reply is not plainly one of yes, no and unknown.", damaged="{" not in text)
    return YesNoReply(answer=answer)


def plain(text: str) -> YesNo | None:
    """Read a reply in words; None where it is empty, a refusal, several answers at once, or not an answer."""
    said = unicodedata.normalize("NFKC", _TAG.sub("", text)).casefold().translate(_SIMPLER).replace("’", "'")
    said = said.strip(_EDGES)
    if (lead := _LEAD.match(said)) is not None:
        said = said[lead.end() :].strip(_EDGES)
    if not said or _REFUSAL.match(said) or _QUESTION.match(said):
        return None
    answer, rest = _leading(said)
    if answer is None:
        last = _SAID_LAST.search(said)
        answer, rest = _leading(last[1].strip(_EDGES)) if last else (None, "")
    # "Yes, no", "yes and no", "是，也不是": two answers at once are none.
    other, _ = _leading(_OTHER.sub("", rest, count=1)) if answer else (None, "")
    return answer if other in (None, answer) else None


def _leading(said: str) -> tuple[YesNo | None, str]:
    for answer, pattern in _ORDER:
        if (match := pattern.match(said)) is not None:
            return answer, said[match.end() :]
    return None, ""
