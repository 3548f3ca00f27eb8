import type { Step } from '../../../shared/contract/automations/steps.ts';
import { toStorableJson } from '../../../shared/json.ts';
import type { JsonObject, JsonValue } from '../../../shared/json.ts';
import { renderTemplates } from '../../../shared/template.ts';
import { plainText } from '../../platform/inference/untrusted-text.ts';
import { StepFailure } from '../failure.ts';
import type { ModelAttempt } from '../ports.ts';
import type { RunContext } from '../runs/run-context.ts';
import { scopeOf } from '../steps/scope.ts';
import { toolResultText } from './agent-protocol.ts';

export type AgentStep = Extract<Step, { type: 'agent' }>;

/** What was said in a conversation, as a model gets it. */
export interface SaidMessage {
  role: 'user' | 'assistant';
  content: string;
}

/** One call of a tool, as the model asked for it and what came of it. */
export interface ToolCall {
  /** Its number within the step, from 1. */
  call: number;
  /** The try of the step in which the model asked for it: a later try goes on with the same call. Not of calls of an earlier release. */
  attempt?: number;
  skillId: string;
  input: JsonValue;
  status: 'pending' | 'succeeded' | 'failed';
  output?: JsonValue;
  outputText?: string;
  error?: { code: string; message: string };
}

/** One answer of the model. */
interface Turn {
  text: string;
  model: string;
  latencyMs: number;
  /** When the model had answered, in ISO 8601; not of turns of an earlier release. */
  answeredAt?: string;
  usage: { inputTokens: number; outputTokens: number };
  /** The models that were asked for it; not of turns of an earlier release. */
  attempts?: ModelAttempt[];
  calls: ToolCall[];
  /** What was wrong with the answer, as the model was told. */
  problems: string[];
  final?: string;
}

/** What an agent's step has done so far. */
export interface AgentState {
  prompt: string;
  turns: Turn[];
  usage: { inputTokens: number; outputTokens: number };
  /** Time that models and tools took so far; waiting for people and nodes is not counted. */
  activeMs: number;
}

/** The state of a step whose open tool call could not be set going: the model is told why, like of any other failure. */
export function refuseOpenCall(stored: JsonObject, failure: StepFailure): JsonObject {
  const state = JSON.parse(JSON.stringify(stored)) as AgentState;
  const open = state.turns.at(-1)?.calls.find((call) => call.status === 'pending');
  if (open !== undefined)
    Object.assign(open, { status: 'failed', error: { code: failure.code, message: failure.message } });
  return toJson(state);
}

export function newState(ctx: RunContext, index: number, step: AgentStep): AgentState {
  const rendered = renderTemplates(step.prompt, scopeOf(ctx, index));
  return {
    prompt: typeof rendered === 'string' ? rendered : JSON.stringify(rendered),
    turns: [],
    usage: { inputTokens: 0, outputTokens: 0 },
    activeMs: 0,
  };
}

export const toJson = (state: AgentState) => toStorableJson(state) as JsonObject;

/** The conversation so far, as the model gets it: what comes from outside without what nobody sees, and without marks of turns. */
export function messagesOf(history: readonly SaidMessage[], state: AgentState): SaidMessage[] {
  const messages: SaidMessage[] = [...history, { role: 'user' as const, content: state.prompt }].map(
    ({ role, content }) => ({ role, content: plainText(content) }),
  );
  for (const turn of state.turns) {
    messages.push({ role: 'assistant', content: turn.text === '' ? '(nothing)' : turn.text });
    messages.push({
      role: 'user',
      content:
        plainText(
          [...turn.calls.map(toolResultText), ...turn.problems.map((problem) => `ERROR: ${problem}`)].join('\n\n'),
        ) || 'Go on.',
    });
  }
  return messages;
}
