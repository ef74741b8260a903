OWNER = "the tools"
