import { z } from 'zod';
import { isTimeZone } from '../../time-zone.ts';
import { named, text, timestamp } from '../common.ts';
import { chatText } from './shapes.ts';

/** How a workspace wants its Live Chat. */

export const weekdays = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'] as const;

/** As browsers write origins: no path, no default port, a host in lower case and ASCII. */
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
  .refine((value) => !/^http:.*[^\]:]:80$|^https:.*[^\]:]:443$/.test(value), 'must leave the default port out');

const clock = z.string().regex(/^([01]\d|2[0-3]):[0-5]\d$|^24:00$/, 'must be a time from 00:00 to 24:00');
/** Both fields of `preChat` are given together: it is replaced as a whole. */
const preChatField = z
  .enum(['off', 'optional', 'required'], {
    error: ({ input }) =>
      input === undefined
        ? 'is missing: give name and email, each "off", "optional" or "required"'
        : 'must be "off", "optional" or "required"',
  })
  .describe('Whether the page asks for it: `off`, `optional` or `required`');

const period = z
  .strictObject({
    day: z.enum(weekdays).describe('Day of the week'),
    from: clock.describe('Local time at which the period begins, `HH:MM`'),
    to: clock.describe('Local time at which the period ends, `HH:MM`; `24:00` for the end of the day'),
  })
  .refine(({ from, to }) => from < to, { path: ['to'], message: 'must be later than from' });

const wholeNumber = (least: number, most: number) =>
  z
    .int(`must be a whole number from ${least.toLocaleString('en')} to ${most.toLocaleString('en')}`)
    .min(least, `must be from ${least.toLocaleString('en')} to ${most.toLocaleString('en')}`)
    .max(most, `must be from ${least.toLocaleString('en')} to ${most.toLocaleString('en')}`);

export const chatLocales = ['en', 'de', 'fr', 'es', 'ar', 'ja'] as const;
export type ChatLocale = (typeof chatLocales)[number];

const settings = {
  title: chatText(1, 60).describe('What the page and the widget are headed with. Pages translate the default'),
  greeting: chatText(0, 500)
    .nullable()
    .describe("Shown above what is written; null for `How can we help?` in the visitor's language, empty for none"),
  colour: z
    .string()
    .regex(/^#[0-9a-f]{6}$/, 'must be a colour such as #0b5fff')
    .describe('Of the launcher and of what the visitor wrote'),
  locale: z
    .enum(chatLocales, `must be one of ${chatLocales.join(', ')}`)
    .nullable()
    .describe("Null for the visitor's own language where the page speaks it, else English"),
  allowedOrigins: z
    .array(origin)
    .max(50, 'must name at most 50 origins')
    .describe('Sites that may show the widget; none when empty'),
  allowAnonymous: z.boolean().describe('Whether visitors without a token may begin a conversation'),
  preChat: z
    .strictObject({
      name: preChatField,
      email: preChatField,
    })
    .describe('What the page asks of a visitor without a token; it identifies nobody'),
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
    .describe('Null when somebody is there around the clock'),
  autoAssignment: z
    .strictObject({
      enabled: z.boolean().describe('Whether conversations are assigned automatically'),
      capacity: wholeNumber(1, 1_000).describe('Open conversations that one agent gets at most by it'),
      returnToPool: z.boolean().describe('Whether the open conversations of an agent who is away go to others'),
    })
    .describe('New and reopened conversations go to the agent online with the fewest open ones, then the longest idle'),
  ratings: z.boolean().describe('Whether visitors are asked how it was'),
  retentionDays: wholeNumber(1, 3_650)
    .nullable()
    .describe('Resolved and closed conversations are erased so many days after their last message; null keeps them'),
  keepAddresses: z.boolean().describe("Whether visitors' addresses are kept whole; else without their last part"),
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

/** What is changed of them: what is left out stays. */
export const chatSettingsPatch = named('ChatSettingsPatch', chatSettings.partial(), {
  title: example.title,
  allowedOrigins: example.allowedOrigins,
});

/** As they are shown, with what a site needs of them. */
export const shownChatSettings = named(
  'ChatSettings',
  z.object({
    ...settings,
    siteKey: z.string().describe('Site key of the workspace, `wgt_…`, for the script tag'),
    snippet: z.string().describe('To put on the sites that are allowed'),
    updatedAt: timestamp.nullable(),
  }),
  {
    ...example,
    siteKey: 'wgt_0a1b2c3d4e5f',
    snippet: '<script async src="https://hub.example.org/widget.js" data-site-key="wgt_0a1b2c3d4e5f"></script>',
    updatedAt: '2026-01-01T09:00:00.000Z',
  },
);

/** Pages translate this title like their own words. */
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
