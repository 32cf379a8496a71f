"""What autograd does inside a trace: functions of the user, hooks, backward."""
