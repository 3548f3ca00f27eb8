import { builtFiles } from '../../../platform/http/pages/built-files.ts';
import { microphonePage } from '../../../platform/http/pages/microphone-page.ts';
import type { Page } from '../../../platform/http/pages/page.ts';

/**
 * The softphone page. Its HTML is the same for every user and contains no SIP password.
 * The browser sends the session cookie with each request and with the WebSocket handshake; scripts cannot read it.
 */
export const phonePages: Page[] = [
  {
    method: 'GET',
    path: '/phone',
    menu: 'Make and take calls',
    limit: 'page',
    answer: async ({ baseUrl }) => microphonePage({ baseUrl, name: 'phone', title: 'Phone', ...builtFiles().phone }),
  },
];
