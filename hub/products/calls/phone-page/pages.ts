import { builtFiles } from '../../../platform/http/pages/built-files.ts';
import { microphonePage } from '../../../platform/http/pages/microphone-page.ts';
import type { Page } from '../../../platform/http/pages/page.ts';

/**
 * The softphone of the people of a workspace. It is the same for everybody: who is signed in it finds out by the cookie, which its script can't read and the
 * browser adds to what it asks, the WebSocket included. So it holds no SIP password, either.
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
