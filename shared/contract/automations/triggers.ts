import { z } from 'zod';
import { jsonValue } from '../../json.ts';
import { isTimeZone } from '../../time-zone.ts';
import { chatEventTypes } from '../chat/chat-events.ts';
import { confusedFields, id, instant, named, text } from '../common.ts';
import { channelProviders } from './channel-providers.ts';

/** Triggers and schedules of workflows. */

const schemaVersion = z.literal(1, 'must be 1').default(1).describe('Version of the trigger format; 1 is the only one');

const scheduleOptions = {
  timezone: text(1, 100)
    .refine(isTimeZone, 'must be an IANA time zone, such as Europe/Berlin')
    .default('UTC')
    .describe('IANA time zone of the schedule, such as `Europe/Berlin`'),
  onMissed: z
    .enum(['skip', 'last', 'all'], 'must be skip, last or all')
    .default('last')
    .describe(
      'What happens to scheduled times that passed while the hub was down. A time that is missed by at most 10 seconds always starts a run',
    ),
  maxCatchUp: z
    .int()
    .min(1, 'must be from 1 to 100')
    .max(100, 'must be from 1 to 100')
    .default(10)
    .describe(
      'With `onMissed: all`: maximum number of missed times that start a run, the latest ones. Times missed by at most 10 seconds do not count',
    ),
  overlap: z
    .enum(['allow', 'skip', 'queue'], 'must be allow, skip or queue')
    .default('allow')
    .describe('What happens when the schedule fires while a run of the workflow is in progress'),
  jitterSeconds: z
    .int()
    .min(0)
    .max(3600, 'must be from 0 to 3600')
    .default(0)
    .describe('Maximum random delay of each run, in seconds'),
};

const cronFields = /^\s*\S+(\s+\S+){4}\s*$/;

export const schedule = named(
  'Schedule',
  z
    .discriminatedUnion(
      'kind',
      [
        named(
          'IntervalSchedule',
          z.strictObject({
            kind: z.literal('interval').describe('Fires at a fixed interval'),
            everySeconds: z
              .int('must be a whole number of seconds')
              .min(1, 'must be from 1 to 31536000')
              .max(31_536_000, 'must be from 1 to 31536000')
              .describe('Seconds from one run to the next, 1 to 31,536,000 (one year)'),
            ...scheduleOptions,
          }),
        ),
        named(
          'CronSchedule',
          z.strictObject({
            kind: z.literal('cron').describe('Fires at the times of a cron expression'),
            cron: text(1, 200)
              .refine(
                (value) => cronFields.test(value),
                'must have five fields: minute, hour, day of the month, month, day of the week',
              )
              .describe('Five fields: minute, hour, day of the month, month, day of the week'),
            ...scheduleOptions,
          }),
        ),
        named(
          'OnceSchedule',
          z.strictObject({
            kind: z.literal('at').describe('Fires once'),
            at: instant.describe('The only time at which the schedule fires'),
            ...scheduleOptions,
          }),
        ),
      ],
      'must be a schedule whose kind is interval, cron or at',
    )
    .describe('When a workflow starts by itself; `kind` selects the format'),
);
export type Schedule = z.output<typeof schedule>;

/** Maximum number of values that a filter lists for one field. Each event is compared with all of them. */
export const maxFilterValues = 1_000;

const eventFilter = z
  .record(
    text(1, 200).regex(/^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$/, 'must be a path such as conversation.source'),
    jsonValue,
  )
  .refine((filter) => Object.keys(filter).length <= 20, 'must name at most 20 fields')
  .describe('Payload fields by path, each with the required value or a list of at most 1,000 accepted values');

export const trigger = named(
  'Trigger',
  z
    .discriminatedUnion(
      'type',
      [
        named(
          'ManualTrigger',
          z.strictObject({
            schemaVersion,
            type: z.literal('manual').describe('Starts only by the API, the dashboard or another run'),
          }),
        ),
        named(
          'ScheduleTrigger',
          z.strictObject({
            schemaVersion,
            type: z.literal('schedule').describe('Starts at the times of a schedule'),
            schedule,
          }),
        ),
        named(
          'HeartbeatTrigger',
          z.strictObject({
            schemaVersion,
            type: z
              .literal('heartbeat')
              .describe('Starts at the times of a schedule, for regular checks by an AI agent'),
            schedule,
          }),
        ),
        named(
          'EventTrigger',
          z.strictObject({
            schemaVersion,
            type: z.literal('event').describe('Starts when an event of Live Chat matches'),
            event: z
              .strictObject({
                type: z
                  .enum(chatEventTypes, `must be one of ${chatEventTypes.join(', ')}`)
                  .describe('Type of the event, such as `message.created`'),
                filter: eventFilter.optional(),
              })
              .describe('Which events start the workflow'),
          }),
        ),
        named(
          'WebhookTrigger',
          z.strictObject(
            {
              schemaVersion,
              type: z.literal('webhook').describe('Starts when the inbound hook is called'),
              webhook: z
                .strictObject({
                  token: text(16, 200)
                    .optional()
                    .describe(
                      'Token that callers of the inbound hook send as `X-Service-Automation-Token`. It starts the workflow: use at least 16 random bytes. When omitted, an update keeps the token and a new trigger gets a random one. A token starts at most 100 workflows of a workspace. Responses contain it for users with the role `admin` and for keys with `automations:manage`; other callers get it only in the response to the request that sets it',
                    ),
                  events: z
                    .array(text(1, 200))
                    .min(1, 'must name at least one event')
                    .max(100, 'must name at most 100 events')
                    .optional()
                    .describe(
                      'Events that start the workflow when a hook call has an `event` and no `workflowId`; every event when omitted. A call with `workflowId` starts the workflow whatever its `event`',
                    ),
                })
                .describe('Which calls of the inbound hook start the workflow'),
            },
            confusedFields({ events: 'webhook.events', token: 'webhook.token' }),
          ),
        ),
        named(
          'ChannelTrigger',
          z.strictObject({
            schemaVersion,
            type: z.literal('channel').describe('Starts when a message arrives on a channel'),
            channel: z
              .strictObject({
                channelId: id.optional().describe('Only this channel; every channel of the provider when omitted'),
                provider: z
                  .enum(channelProviders)
                  .optional()
                  .describe('Only channels of this provider; every provider when omitted'),
              })
              .default({})
              .describe('Channels that start the workflow; every channel when omitted'),
          }),
        ),
      ],
      'must be a trigger whose type is manual, schedule, heartbeat, event, webhook or channel',
    )
    .describe('What starts a workflow; `type` selects the kind'),
);
export type Trigger = z.output<typeof trigger>;
