import type { Step } from '../../../shared/contract/automations/steps.ts';
import { toStorableJson } from '../../../shared/json.ts';
import type { JsonObject, JsonValue } from '../../../shared/json.ts';
import { renderTemplates } from '../../../shared/template.ts';
import { plainText } from '../../platform/inference/untrusted-text.ts';
import { StepFailure } from '../failure.ts';
import type { ModelAttempt } from '../ports.ts';
import type { RunContext } from '../runs/run-context.ts';
import { buildTemplateScope } from '../steps/scope.ts';
import { toolResultText } from './agent-protocol.ts';

export type AgentStep = Extract<Step, { type: 'agent' }>;

/** A message of a conversation in the form for a model. */
export interface ModelMessage {
  role: 'user' | 'assistant';
  content: string;
}

/** One tool call of the model, and its result. */
export interface ToolCall {
  /** Number of the call within the step, from 1. */
  call: number;
  /**
   * The attempt of the step in which the model requested the call. A later attempt continues the same call. Missing in calls
   * of earlier releases.
   */
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
  /** Time of the answer, in ISO 8601. Missing in turns of earlier releases. */
  answeredAt?: string;
  usage: { inputTokens: number; outputTokens: number };
  /** The models that were called for the answer. Missing in turns of earlier releases. */
  attempts?: ModelAttempt[];
  calls: ToolCall[];
  /** Problems of the answer that are reported to the model. */
  problems: string[];
  final?: string;
}

/** The progress of an agent step. */
export interface AgentState {
  prompt: string;
  turns: Turn[];
  usage: { inputTokens: number; outputTokens: number };
  /** Time used by models and tools so far, in milliseconds. Waits for approvals, nodes and child runs do not count. */
  activeMs: number;
}

/** The state of a step whose open tool call could not start. The failure is reported to the model like any other. */
export function refuseOpenCall(stored: JsonObject, failure: StepFailure): JsonObject {
  const state = JSON.parse(JSON.stringify(stored)) as AgentState;
  const open = state.turns.at(-1)?.calls.find((call) => call.status === 'pending');
  if (open !== undefined)
    Object.assign(open, { status: 'failed', error: { code: failure.code, message: failure.message } });
  return toJson(state);
}

export function newState(ctx: RunContext, index: number, step: AgentStep): AgentState {
  const rendered = renderTemplates(step.prompt, buildTemplateScope(ctx, index));
  return {
    prompt: typeof rendered === 'string' ? rendered : JSON.stringify(rendered),
    turns: [],
    usage: { inputTokens: 0, outputTokens: 0 },
    activeMs: 0,
  };
}

export const toJson = (state: AgentState) => toStorableJson(state) as JsonObject;

/**
 * Builds the messages for the model. Removes invisible characters and breaks turn separators apart in the history, the prompt
 * and the results of tools.
 */
export function messagesOf(history: readonly ModelMessage[], state: AgentState): ModelMessage[] {
  const messages: ModelMessage[] = [...history, { role: 'user' as const, content: state.prompt }].map(
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
