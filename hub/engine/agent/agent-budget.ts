import { StepFailure } from '../failure.ts';
import type { AgentState, AgentStep } from './agent-state.ts';

/** @throws StepFailure `max_turns`, `token_budget` or `timeout` if an agent has reached a limit of its step. */
export function assertWithinBudget(step: AgentStep, state: AgentState): void {
  const { turns, usage, activeMs } = state;
  const { maxTurns, maxTokens, timeoutSeconds } = step;
  if (turns.length >= maxTurns)
    throw new StepFailure('max_turns', `The agent did not come to its FINAL within ${maxTurns} turns.`, {
      retryable: false,
    });
  if (maxTokens !== undefined && usage.inputTokens + usage.outputTokens >= maxTokens)
    throw new StepFailure(
      'token_budget',
      `The agent used ${usage.inputTokens + usage.outputTokens} tokens; ${maxTokens} is the most.`,
      { retryable: false },
    );
  if (timeoutSeconds !== undefined && activeMs >= timeoutSeconds * 1000)
    throw new StepFailure('timeout', `The agent took longer than ${timeoutSeconds} s.`, { retryable: false });
}

/** Remaining time of the step, in seconds, at least 0.1. Undefined if the step has no time limit. */
export function remainingSeconds(step: AgentStep, state: AgentState): number | undefined {
  const { timeoutSeconds } = step;
  return timeoutSeconds === undefined ? undefined : Math.max(0.1, timeoutSeconds - state.activeMs / 1000);
}
