import { z } from 'zod';
import { isTimeZone } from '../../time-zone.ts';
import { named, text, timestamp } from '../common.ts';
import { chatText } from './shapes.ts';

/** Live Chat settings of a workspace. */

export const weekdays = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'] as const;

/** An origin as browsers send it: no path, no default port, the host in lower-case ASCII. */
const origin = z
  .url({
    protocol: /^https?$/,
    normalize: false,
    error: 'must be an origin such as https://www.example.org',
  })
  .regex(
    /^https?:\/\/(?:[a-z0-9-]+(?:\.[a-z0-9-]+)*|\[[0-9a-f:.]+\])(?::\d{1,5})?$/,
    'must be an origin such as https://www.example.org, without a path',
  )
  .refine((value) => !/^http:.*[^\]:]:80$|^https:.*[^\]:]:443$/.test(value), 'must not name the default port');

const clock = z.string().regex(/^([01]\d|2[0-3]):[0-5]\d$|^24:00$/, 'must be a time from 00:00 to 24:00');
/** Requests set both fields of `preChat`, because `preChat` is replaced as a whole. */
const preChatField = z
  .enum(['off', 'optional', 'required'], {
    error: ({ input }) =>
      input === undefined
        ? 'is missing: send name and email, each "off", "optional" or "required"'
        : 'must be "off", "optional" or "required"',
  })
  .describe('Whether the page requests the field');

const period = z
  .strictObject({
    day: z.enum(weekdays).describe('Day of the week'),
    from: clock.describe('Local time at which the period starts, `HH:MM`'),
    to: clock.describe('Local time at which the period ends, `HH:MM`; `24:00` for the end of the day'),
  })
  .refine(({ from, to }) => from < to, { path: ['to'], message: 'must be later than from' });

const wholeNumber = (min: number, max: number) =>
  z
    .int(`must be a whole number from ${min.toLocaleString('en')} to ${max.toLocaleString('en')}`)
    .min(min, `must be from ${min.toLocaleString('en')} to ${max.toLocaleString('en')}`)
    .max(max, `must be from ${min.toLocaleString('en')} to ${max.toLocaleString('en')}`);

export const chatLocales = ['en', 'de', 'fr', 'es', 'ar', 'ja'] as const;
export type ChatLocale = (typeof chatLocales)[number];

const settings = {
  title: chatText(1, 60).describe('Title of the page and the widget. Pages translate the default title'),
  greeting: chatText(0, 500)
    .nullable()
    .describe("Text above the messages; null: `How can we help?` in the visitor's language; empty: no greeting"),
  colour: z
    .string()
    .regex(/^#[0-9a-f]{6}$/, 'must be a colour such as #0b5fff')
    .describe('Color of the launcher and of the messages of the visitor'),
  locale: z
    .enum(chatLocales, `must be one of ${chatLocales.join(', ')}`)
    .nullable()
    .describe("Language of the page; null: the visitor's language if supported, otherwise English"),
  allowedOrigins: z
    .array(origin)
    .max(50, 'must have at most 50 origins')
    .describe('Origins that may show the widget; none when empty'),
  allowAnonymous: z.boolean().describe('Whether visitors without a token may start a conversation'),
  preChat: z
    .strictObject({
      name: preChatField,
      email: preChatField,
    })
    .describe('Fields that the page requests from a visitor without a token; they do not identify the visitor'),
  businessHours: z
    .strictObject({
      timeZone: text(1, 60)
        .refine(isTimeZone, 'must be a time zone such as Europe/Berlin')
        .describe('IANA time zone of the periods, such as `Europe/Berlin`'),
      periods: z
        .array(period)
        .max(50, 'must name at most 50 periods')
        .describe('Times at which the chat is open, at most 50'),
      awayMessage: chatText(0, 500).describe('Shown outside the periods, at most 500 characters; may be empty'),
    })
    .nullable()
    .describe('Business hours; null for a chat that is always open'),
  autoAssignment: z
    .strictObject({
      enabled: z.boolean().describe('Whether conversations are assigned automatically'),
      capacity: wholeNumber(1, 1_000).describe(
        'Maximum number of open live conversations, and of open test conversations, that one agent gets automatically',
      ),
      returnToPool: z.boolean().describe('Whether open conversations of an agent who is away are reassigned'),
    })
    .describe(
      'Assigns new and reopened conversations to the online agent with the fewest open ones, then the longest idle',
    ),
  ratings: z.boolean().describe('Whether visitors are asked for a rating'),
  retentionDays: wholeNumber(1, 3_650)
    .nullable()
    .describe('Days after the last message until resolved and closed conversations are erased; null keeps them'),
  keepAddresses: z
    .boolean()
    .describe('Whether whole IP addresses of visitors are stored; otherwise the last part is removed'),
};

export const chatSettings = z.strictObject(settings);
export type ChatSettings = z.output<typeof chatSettings>;

const example: ChatSettings = {
  title: 'Chat with us',
  greeting: 'Hello! How can we help?',
  colour: '#0b5fff',
  locale: 'en',
  allowedOrigins: ['https://www.example.org'],
  allowAnonymous: false,
  preChat: { name: 'optional', email: 'optional' },
  businessHours: {
    timeZone: 'Europe/Berlin',
    periods: [{ day: 'monday', from: '09:00', to: '17:30' }],
    awayMessage: 'We are back on Monday.',
  },
  autoAssignment: { enabled: true, capacity: 20, returnToPool: true },
  ratings: true,
  retentionDays: 365,
  keepAddresses: false,
};

/** A partial update of the settings. */
export const chatSettingsPatch = named('ChatSettingsPatch', chatSettings.partial(), {
  title: example.title,
  allowedOrigins: example.allowedOrigins,
});

/** The settings in responses, with the site key and the script tag. */
export const chatSettingsResponse = named(
  'ChatSettings',
  z.object({
    ...settings,
    siteKey: z.string().describe('Site key of the workspace, `wgt_…`, for the script tag'),
    snippet: z.string().describe('Script tag for the allowed sites'),
    updatedAt: timestamp.nullable(),
  }),
  {
    ...example,
    siteKey: 'wgt_0a1b2c3d4e5f',
    snippet: '<script async src="https://hub.example.org/widget.js" data-site-key="wgt_0a1b2c3d4e5f"></script>',
    updatedAt: '2026-01-01T09:00:00.000Z',
  },
);

/** Pages translate this title like their own texts. */
export const defaultChatTitle = 'Chat with us';

export const defaultChatSettings: ChatSettings = {
  title: defaultChatTitle,
  greeting: null,
  colour: '#0b5fff',
  locale: null,
  allowedOrigins: [],
  allowAnonymous: false,
  preChat: { name: 'optional', email: 'optional' },
  businessHours: null,
  autoAssignment: { enabled: false, capacity: 20, returnToPool: false },
  ratings: true,
  retentionDays: null,
  keepAddresses: false,
};
