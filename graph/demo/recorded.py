"""A chat model for machines without an endpoint: it says one recorded answer, whatever it is asked."""

from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult

RECORDED_JUDGEMENT = (
    "您好,非常抱歉让您久等。订单 A1234 延迟发货是因为武汉仓缺货,包裹还没有交给承运商,补货后会立即为您发出。"
    "为表歉意,我们将为您补偿一张 20 元优惠券;如果您不想继续等待,也可以随时申请全额退款。"
)


class RecordedModel(BaseChatModel):
    """Answers the demo's one question as a real model once did."""

    @property
    def _llm_type(self) -> str:
        return "recorded"

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=AIMessage(RECORDED_JUDGEMENT))])
