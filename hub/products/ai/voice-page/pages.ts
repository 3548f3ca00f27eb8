import { builtFiles } from '../../../platform/http/pages/built-files.ts';
import { microphonePage } from '../../../platform/http/pages/microphone-page.ts';
import type { Page } from '../../../platform/http/pages/page.ts';

/**
 * The page to speak with the AI agent. Its HTML is the same for every user.
 * The browser sends the session cookie with each request and with the WebSocket handshake; scripts cannot read it.
 */
export const voicePages: Page[] = [
  {
    method: 'GET',
    path: '/voice',
    menu: 'Speak with the AI agent',
    limit: 'page',
    answer: async ({ baseUrl }) => microphonePage({ baseUrl, name: 'voice', title: 'Voice', ...builtFiles().voice }),
  },
];
