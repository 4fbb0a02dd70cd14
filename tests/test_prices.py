"""What calls cost: prices given and listed, cached and batched tokens, and a cap that holds before money is spent."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluators.models import price
from evaluators.prices import Budget, PriceError, Prices, Rate, estimate_tokens, read_prices
from evaluators.values import Image, Message, Model, Reply, Usage

LISTED = Model(name="openai/gpt-5.1", provider="openai")
UNKNOWN = Model(name="openai/no-such-model", provider="maker")
MILLION = Usage(input_tokens=1_000_000, output_tokens=1_000_000)


def test_a_price_given_by_hand_comes_before_the_table_and_a_nameless_one_after_it() -> None:
    prices = read_prices(["openai/gpt-5.1=1,2", "3,4"])
    assert prices.of(LISTED, MILLION) == 3
    assert prices.of(UNKNOWN, MILLION) == 7
    assert read_prices(["3,4"]).of(LISTED, MILLION) == price(LISTED, MILLION)
    assert Prices().of(UNKNOWN, MILLION) is None


def test_cached_tokens_count_at_their_own_price() -> None:
    usage = Usage(input_tokens=1_000_000, output_tokens=0, cached_tokens=400_000)
    assert read_prices(["x/y=10,0,1"]).of(Model(name="x/y", provider="x"), usage) == pytest.approx(6.4)
    assert read_prices(["x/y=10,0"]).of(Model(name="x/y", provider="x"), usage) == 10
    whole = price(LISTED, usage.model_copy(update={"cached_tokens": 0}))
    cached = price(LISTED, usage)
    assert whole is not None
    assert cached is not None
    assert cached < whole


def test_batches_have_the_price_that_the_table_lists_for_them() -> None:
    live, batch = price(LISTED, MILLION), price(LISTED, MILLION, batch=True)
    assert live is not None
    assert batch == live / 2, "OpenAI's batches cost half"
    assert price(UNKNOWN, MILLION, batch=True) is None


def test_a_model_of_this_machine_is_free_unless_a_price_is_given_for_it() -> None:
    here = UNKNOWN.model_copy(update={"api_base": "http://127.0.0.1:1/v1"})
    assert Prices().known(here)
    assert not Prices().known(UNKNOWN)
    assert not read_prices(["openai/no-such-model=1,2"]).free(here)
    assert read_prices(["openai/no-such-model=1,2"]).known(UNKNOWN)


@pytest.mark.parametrize("text", ["", "1", "1,2,3,4", "x", "a=1", "a=1,b", "a=-1,2", "a=1,nan", "a=1,inf"])
def test_a_price_that_cannot_be_read_is_refused_with_its_form(text: str) -> None:
    with pytest.raises(PriceError, match="IN,OUT"):
        read_prices([text])


@given(st.lists(st.tuples(st.integers(1, 2000), st.integers(0, 2000)), max_size=40), st.floats(0.01, 5))
def test_what_is_promised_never_goes_beyond_the_cap(calls: list[tuple[int, int]], most: float) -> None:
    """Replies no longer than the longest so far, or than --max-tokens, cannot break it."""
    budget = Budget(most, Prices({"": Rate(input=0, output=1000)}))
    for seen, output in calls:
        model = UNKNOWN.model_copy(update={"decoding": UNKNOWN.decoding.model_copy(update={"max_tokens": seen})})
        promised = budget.promise(model, (Message(role="user", text="x"),))
        if promised is None:
            assert budget.paid_usd + seen / 1000 > most
            continue
        usage = Usage(input_tokens=1, output_tokens=min(output, seen))
        reply = Reply(text="x", usage=usage, cost_usd=budget.prices.of(model, usage))
        budget.settle(promised, model, reply)
        assert budget.paid_usd <= most


def test_what_was_promised_for_a_call_that_failed_is_free_again() -> None:
    budget = Budget(1.0, Prices({"": Rate(input=0, output=1000)}))
    first = budget.promise(UNKNOWN, ())
    assert first == 1.0
    assert budget.promise(UNKNOWN, ()) is None
    budget.settle(first, UNKNOWN, None)
    assert budget.promise(UNKNOWN, ()) == 1.0


def test_tokens_are_estimated_on_the_high_side_of_the_tokenizer() -> None:
    from evaluators.models import count_tokens

    texts = [
        "She threw the key away and laughed. Why?" * 20,
        "她扔掉钥匙，笑了。为什么？" * 20,
        "def f(x):\n    return x\n" * 20,
    ]
    for text in texts:
        asked = (Message(role="user", text=text),)
        assert count_tokens(LISTED, asked) <= estimate_tokens(asked) <= 3 * count_tokens(LISTED, asked)
    image = Image(sha256="0" * 64, media_type="image/png")
    assert estimate_tokens((Message(role="user", text="", images=(image,)),)) > 1000
