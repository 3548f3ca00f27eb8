import { maxOutputBytes as maxStepOutputBytes } from '../../hub/engine/calls/direct-call.ts';
import { maxRunOutputBytes } from '../../hub/engine/runs/run-outputs.ts';
import { maxRunDepth } from '../../hub/engine/starts/accept-runs.ts';
import { maxInputBytes } from '../../hub/engine/steps/step-input.ts';
import { defaultLimitBytes, publicLimitBytes } from '../../hub/platform/http/routing/body.ts';
import { workspaceLimits } from '../../hub/products/core/limits/workspace-limits.ts';
import { maxDownloadsPerCommand } from '../../shared/commands/browser-common.ts';
import { maxContentLength, maxEvaluateBytes } from '../../shared/commands/browser.ts';
import { maxListEntries } from '../../shared/commands/files.ts';
import { maxOutputBytes as maxProgramOutputBytes } from '../../shared/commands/system.ts';
import { maxRules } from '../../shared/companion/settings.ts';
import { maxKnowledgeBytes, maxKnowledgeEntries } from '../../shared/contract/ai/knowledge.ts';
import { maxContextLength, maxInputLength } from '../../shared/contract/ai/runs.ts';
import { maxAudioSeconds } from '../../shared/contract/ai/voice-request.ts';
import { maxUtteranceSeconds, maxVoiceSocketsPerUser } from '../../shared/contract/ai/voice.ts';
import { maxMemoryEntries, maxMemoryValueBytes } from '../../shared/contract/automations/memory.ts';
import { maxBulkRuns } from '../../shared/contract/automations/runs.ts';
import { maxSessionMessages } from '../../shared/contract/automations/sessions.ts';
import { maxCarrierBodyBytes } from '../../shared/contract/calls/connections.ts';
import { maxReplyTools } from '../../shared/contract/chat/ai-settings.ts';
import { maxSuggestionsPerMinute } from '../../shared/contract/chat/ai-suggestions.ts';
import {
  maxAttributes,
  maxAttributesBytes,
  maxFileBytes,
  maxFilesPerMessage,
  maxMessageLength,
} from '../../shared/contract/chat/shapes.ts';
import { maxArtifactBytes, maxArtifacts } from '../../shared/contract/nodes/command-result.ts';
import { deliveryDays, maxWebhookBodyBytes, retrySeconds } from '../../shared/contract/webhooks/webhooks.ts';
import { maxJsonDepth, maxJsonKeys } from '../../shared/json.ts';
import { maxRenderedLength } from '../../shared/template.ts';
import { page } from './pages.ts';

const count = (value: number) => value.toLocaleString('en-US');

function bytes(value: number): string {
  const [size, unit] = value >= 1024 * 1024 ? [value / (1024 * 1024), 'MiB'] : [value / 1024, 'KiB'];
  return `${count(size)} ${unit}`;
}

const table = (rows: readonly (readonly [what: string, limit: string])[]) =>
  ['| what | limit |', '|---|---|', ...rows.map(([what, limit]) => `| ${what} | ${limit} |`)].join('\n');

export function limitsPage(): string {
  return page(
    'Limits',
    'Limits that a setting changes are in [settings.md](settings.md). A request over a limit gets an error that names the limit.',
    '## Per workspace',
    table([
      ...workspaceLimits.map(({ name, max }) => [name, count(max)] as const),
      ['memory entries', count(maxMemoryEntries)],
      ['knowledge entries', count(maxKnowledgeEntries)],
      ['size of the knowledge', bytes(maxKnowledgeBytes)],
    ]),
    '## Requests',
    table([
      ['JSON body of a request with a credential, unless the operation says otherwise', bytes(defaultLimitBytes)],
      ['JSON body of a public request', bytes(publicLimitBytes)],
      ['nesting of JSON', `${maxJsonDepth} levels`],
      ['fields in a JSON document', count(maxJsonKeys)],
      ['body of a carrier event', bytes(maxCarrierBodyBytes)],
    ]),
    '## Runs',
    table([
      ['runs that start each other', `${maxRunDepth} levels`],
      ['input of a step that the run stores and shows; a longer one is left out', bytes(maxInputBytes)],
      ['output of a step', bytes(maxStepOutputBytes)],
      ['outputs of all steps of a run', bytes(maxRunOutputBytes)],
      ['text that a template renders', `${count(maxRenderedLength)} characters`],
      ['runs in one bulk request', count(maxBulkRuns)],
      ['value of a memory entry', bytes(maxMemoryValueBytes)],
      [
        'messages of a session; a channel or an agent replaces the oldest one, others get `conflict`',
        count(maxSessionMessages),
      ],
    ]),
    '## Nodes',
    table([
      ['artifacts of a command', count(maxArtifacts)],
      ['size of an artifact', bytes(maxArtifactBytes)],
      ['entries of a folder that `node.files_list` reads', count(maxListEntries)],
      ['output of a program, per stream', bytes(maxProgramOutputBytes)],
      ['result of `browser.evaluate`', bytes(maxEvaluateBytes)],
      ['text of `browser.content`', `${count(maxContentLength)} characters`],
      ['downloads of one browser command', count(maxDownloadsPerCommand)],
      ['command rules of an owner', count(maxRules)],
    ]),
    '## Live Chat and webhooks',
    table([
      ['text of a message', `${count(maxMessageLength)} characters`],
      ['files of a message', count(maxFilesPerMessage)],
      ['size of a file', bytes(maxFileBytes)],
      ['attributes of a visitor', `${maxAttributes}, ${bytes(maxAttributesBytes)} in all`],
      ['tools of the AI agent in a chat', count(maxReplyTools)],
      ['suggestions of the AI agent, per user and minute', count(maxSuggestionsPerMinute)],
      ['body of a webhook delivery', bytes(maxWebhookBodyBytes)],
      [
        'retries of a webhook delivery',
        `${retrySeconds.length}, over about ${Math.round(retrySeconds.reduce((sum, delay) => sum + delay, 0) / 86_400)} days`,
      ],
      ['retention of a delivery', `${deliveryDays} days`],
    ]),
    '## AI Agent',
    table([
      ['input of a run', `${count(maxInputLength)} characters`],
      ['context of a run', `${count(maxContextLength)} characters`],
      ['recording of a voice request', `${maxAudioSeconds} s`],
      ['utterance in a voice conversation', `${maxUtteranceSeconds} s`],
      ['voice conversations of a user at the same time', count(maxVoiceSocketsPerUser)],
    ]),
  );
}
