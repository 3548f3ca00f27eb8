import { packManifest } from '../../../../shared/contract/automations/packs.ts';
import type { PackManifest } from '../../../../shared/contract/automations/packs.ts';

/** The shipped packs. They are checked on installation like all other packs. */

const publisher = 'Outrigger';

const node = { type: 'string', format: 'node', title: 'Node', description: 'The companion that runs it' } as const;
const timezone = { type: 'string', format: 'timezone', title: 'Time zone', default: 'UTC' } as const;
const email = {
  type: 'string',
  format: 'email',
  title: 'Mail to',
  description: 'No mail is sent when omitted',
  default: '',
} as const;
const cron = (value: string) =>
  ({
    type: 'string',
    format: 'cron',
    title: 'When',
    description: 'Five-field cron expression',
    default: value,
  }) as const;
const everySeconds = (value: number) =>
  ({ type: 'integer', title: 'Interval in seconds', default: value, minimum: 10, maximum: 86_400 }) as const;

const byCron = (type: 'schedule' | 'heartbeat') => ({
  type,
  schedule: { kind: 'cron', cron: '{{inputs.cron}}', timezone: '{{inputs.timezone}}', onMissed: 'last' },
});
const byInterval = {
  type: 'heartbeat',
  schedule: { kind: 'interval', everySeconds: '{{inputs.everySeconds}}', onMissed: 'skip', overlap: 'skip' },
};

const dailyScreenReport = {
  id: 'daily-screen-report',
  name: 'Daily screen report',
  version: '1.0.0',
  publisher,
  summary:
    'Takes a screenshot of a machine at a time of day and logs its address. The owner of the machine must allow it with: outrigger-companion allow screen',
  inputsSchema: {
    type: 'object',
    properties: { nodeId: node, cron: cron('0 9 * * *'), timezone, email },
    required: ['nodeId'],
  },
  skills: ['node.ping', 'node.capture_screen', 'log.write', 'memory.write', 'email.send'],
  nodePowers: ['ping', 'screen'],
  graph: {
    trigger: byCron('schedule'),
    steps: [
      {
        type: 'skill',
        id: 'ping',
        skillId: 'node.ping',
        input: { nodeId: '{{inputs.nodeId}}', waitMs: 120_000 },
        retry: { maxAttempts: 3, backoffSeconds: 60, factor: 2 },
      },
      {
        type: 'skill',
        id: 'screen',
        skillId: 'node.capture_screen',
        input: { nodeId: '{{inputs.nodeId}}', waitMs: 60_000 },
      },
      {
        type: 'skill',
        skillId: 'memory.write',
        input: {
          key: 'daily-screen-report:{{inputs.nodeId}}',
          value: { artifactId: '{{steps.screen.output.artifactId}}', at: '{{now}}' },
        },
      },
      {
        type: 'log',
        message: 'Screen of {{inputs.nodeId}}: /v1/automations/artifacts/{{steps.screen.output.artifactId}}',
      },
      {
        type: 'skill',
        ifInput: 'email',
        skillId: 'email.send',
        input: {
          to: ['{{inputs.email}}'],
          subject: 'Screen report',
          text: 'The screenshot of today is at /v1/automations/artifacts/{{steps.screen.output.artifactId}} of your hub.',
        },
      },
    ],
  },
};

const siteUptimeWatch = {
  id: 'site-uptime-watch',
  name: 'Site uptime watch',
  version: '1.0.0',
  publisher,
  summary:
    'Opens a page in the browser of a machine every few minutes, takes a screenshot, and reports when the page cannot be opened.',
  inputsSchema: {
    type: 'object',
    properties: {
      nodeId: node,
      url: { type: 'string', format: 'uri', title: 'Page' },
      everySeconds: everySeconds(300),
      email,
    },
    required: ['nodeId', 'url'],
  },
  skills: ['browser.navigate', 'browser.screenshot', 'memory.write', 'log.write', 'email.send'],
  hosts: ['inputs.url'],
  nodePowers: ['browser'],
  graph: {
    trigger: byInterval,
    steps: [
      {
        type: 'skill',
        id: 'open',
        skillId: 'browser.navigate',
        input: { nodeId: '{{inputs.nodeId}}', url: '{{inputs.url}}' },
        continueOnError: true,
        retry: { maxAttempts: 2, backoffSeconds: 5, factor: 2 },
      },
      {
        type: 'skill',
        id: 'picture',
        when: '{{steps.open.output}}',
        skillId: 'browser.screenshot',
        input: { nodeId: '{{inputs.nodeId}}', pageId: '{{steps.open.output.pageId}}' },
      },
      { type: 'log', when: '{{steps.open.output}}', message: '{{inputs.url}} is up: {{steps.open.output.title}}' },
      {
        type: 'log',
        when: '{{steps.open.error}}',
        level: 'error',
        message: '{{inputs.url}} is down: {{steps.open.error.message}}',
      },
      {
        type: 'skill',
        skillId: 'memory.write',
        input: { key: 'site-uptime-watch:{{inputs.url}}', value: { up: '{{steps.open.status}}', at: '{{now}}' } },
      },
      {
        type: 'skill',
        ifInput: 'email',
        when: '{{steps.open.error}}',
        skillId: 'email.send',
        input: { to: ['{{inputs.email}}'], subject: '{{inputs.url}} is down', text: '{{steps.open.error.message}}' },
        continueOnError: true,
      },
    ],
  },
};

const inboundMessageTriage = {
  id: 'inbound-message-triage',
  name: 'Inbound message triage',
  version: '1.0.0',
  publisher,
  summary:
    'A model classifies the topic and the urgency of each message of a channel. The workflow logs the result and answers the sender.',
  inputsSchema: {
    type: 'object',
    properties: {
      channelId: { type: 'string', format: 'uuid', title: 'Channel' },
      provider: {
        type: 'string',
        title: 'Provider of the channel',
        enum: ['telegram', 'slack', 'whatsapp', 'webhook', 'email'],
      },
      answer: {
        type: 'string',
        title: 'Answer to the sender',
        default: 'Thank you. We have received your message and will get back to you.',
      },
    },
    required: ['channelId', 'provider'],
  },
  skills: ['ai.invoke', 'log.write', 'memory.write', 'channel.deliver'],
  graph: {
    trigger: { type: 'channel', channel: { channelId: '{{inputs.channelId}}' } },
    steps: [
      {
        type: 'skill',
        id: 'triage',
        skillId: 'ai.invoke',
        input: {
          input: 'Say in one line what this message is about, and end with one of: urgent, normal, spam.',
          context: '{{payload.text}}',
        },
      },
      { type: 'log', message: 'From {{payload.from}}: {{steps.triage.outputText}}' },
      {
        type: 'skill',
        skillId: 'memory.write',
        input: { key: 'triage', value: '{{steps.triage.outputText}}', sessionId: '{{payload.sessionId}}' },
      },
      {
        type: 'deliver',
        provider: '{{inputs.provider}}',
        channelId: '{{inputs.channelId}}',
        to: '{{payload.replyTo}}',
        text: '{{inputs.answer}}',
      },
    ],
  },
};

const liveChatTriage = {
  id: 'live-chat-triage',
  name: 'Live Chat triage',
  version: '1.0.0',
  publisher,
  summary:
    'A model classifies the topic and the urgency of each unread message. The workflow adds the result as a private note for the agents.',
  inputsSchema: {
    type: 'object',
    properties: {
      greeting: {
        type: 'string',
        title: 'Answer to the visitor',
        description: 'No answer when omitted',
        default: '',
      },
    },
    required: [],
  },
  skills: ['ai.invoke', 'chat.post_message', 'log.write'],
  graph: {
    trigger: {
      type: 'event',
      // Only messages of visitors match: notes and answers of this workflow must not start it again.
      event: { type: 'message.created', filter: { 'message.senderType': 'visitor', 'conversation.unreadCount': 1 } },
    },
    steps: [
      {
        type: 'skill',
        ifInput: 'greeting',
        skillId: 'chat.post_message',
        input: { channelId: '{{payload.conversation.id}}', content: '{{inputs.greeting}}' },
        continueOnError: true,
      },
      {
        type: 'skill',
        id: 'triage',
        skillId: 'ai.invoke',
        input: {
          input: 'Say in one line what this message is about, and end with one of: urgent, normal, spam.',
          context: '{{payload.message.content}}',
        },
      },
      {
        type: 'skill',
        skillId: 'chat.post_message',
        input: {
          channelId: '{{payload.conversation.id}}',
          content: '{{steps.triage.outputText}}',
          private: true,
          as: 'ai',
        },
      },
      { type: 'log', message: 'Conversation {{payload.conversation.id}}: {{steps.triage.outputText}}' },
    ],
  },
};

const maintenanceCommand = {
  id: 'maintenance-command',
  name: 'Approval-gated maintenance command',
  version: '1.0.0',
  publisher,
  summary: 'Runs a command on a machine on a schedule, each time only after a person approved exactly this command.',
  inputsSchema: {
    type: 'object',
    properties: {
      nodeId: node,
      argv: {
        type: 'array',
        title: 'Command',
        description: 'Program and arguments, without a shell',
        items: { type: 'string' },
      },
      cron: cron('0 6 * * SUN'),
      timezone,
    },
    required: ['nodeId', 'argv'],
  },
  skills: ['node.ping', 'system.run', 'log.write'],
  nodePowers: ['ping', 'system'],
  graph: {
    trigger: byCron('schedule'),
    steps: [
      { type: 'skill', skillId: 'node.ping', input: { nodeId: '{{inputs.nodeId}}', waitMs: 300_000 } },
      {
        type: 'skill',
        id: 'command',
        name: 'Maintenance',
        skillId: 'system.run',
        input: { nodeId: '{{inputs.nodeId}}', argv: '{{inputs.argv}}' },
      },
      { type: 'log', message: 'Ended with {{steps.command.output.exitCode}}: {{steps.command.output.stdout}}' },
    ],
  },
};

const fileDropWatcher = {
  id: 'file-drop-watcher',
  name: 'File drop watcher',
  version: '1.0.0',
  publisher,
  summary: 'Checks a shared folder of a machine and reports files that are new since the last check.',
  inputsSchema: {
    type: 'object',
    properties: {
      nodeId: node,
      path: { type: 'string', title: 'Shared folder' },
      everySeconds: everySeconds(60),
      email,
    },
    required: ['nodeId', 'path'],
  },
  skills: ['node.files_list', 'memory.diff', 'log.write', 'email.send'],
  nodePowers: ['files'],
  graph: {
    trigger: byInterval,
    steps: [
      {
        type: 'skill',
        id: 'list',
        skillId: 'node.files_list',
        input: { nodeId: '{{inputs.nodeId}}', path: '{{inputs.path}}' },
      },
      {
        type: 'skill',
        id: 'news',
        skillId: 'memory.diff',
        input: {
          key: 'file-drop-watcher:{{inputs.nodeId}}:{{inputs.path}}',
          items: '{{steps.list.output.entries}}',
          by: 'name',
        },
      },
      {
        type: 'log',
        when: '{{steps.news.output.added}}',
        message: 'New in {{inputs.path}}: {{steps.news.outputText}}',
      },
      {
        type: 'skill',
        ifInput: 'email',
        when: '{{steps.news.output.added}}',
        skillId: 'email.send',
        input: { to: ['{{inputs.email}}'], subject: 'New files in {{inputs.path}}', text: '{{steps.news.outputText}}' },
        continueOnError: true,
      },
    ],
  },
};

const weeklyRunDigest = {
  id: 'weekly-run-digest',
  name: 'Weekly run digest',
  version: '1.0.0',
  publisher,
  summary: 'Summarises the runs of this workspace once a week.',
  inputsSchema: { type: 'object', properties: { cron: cron('0 8 * * MON'), timezone, email }, required: [] },
  skills: ['runs.summary', 'log.write', 'memory.write', 'email.send'],
  graph: {
    trigger: byCron('schedule'),
    steps: [
      { type: 'skill', id: 'week', skillId: 'runs.summary', input: { window: '7d' } },
      { type: 'log', message: '{{steps.week.outputText}}' },
      { type: 'skill', skillId: 'memory.write', input: { key: 'weekly-run-digest', value: '{{steps.week.output}}' } },
      {
        type: 'skill',
        ifInput: 'email',
        skillId: 'email.send',
        input: { to: ['{{inputs.email}}'], subject: 'The runs of the week', text: '{{steps.week.outputText}}' },
      },
    ],
  },
};

export const shippedPacks: readonly PackManifest[] = [
  dailyScreenReport,
  siteUptimeWatch,
  inboundMessageTriage,
  liveChatTriage,
  maintenanceCommand,
  fileDropWatcher,
  weeklyRunDigest,
].map((pack) => packManifest.parse(pack));
