"""The agent: a chat model in a loop with tools.

``context`` is what a run knows, ``loop`` runs the rounds, ``rounds`` is one model call, ``calls``
carries out tool calls, ``search`` is the built-in tool, ``prompts`` holds the contract with the
model, ``tools`` the values signals may change. The modules that need LangChain are imported when
a run starts, not with the app.
"""
