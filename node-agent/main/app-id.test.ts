import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { appId } from './app-id.ts';

test('the app has the id of its packages', () => {
  expect(readFileSync(resolve('electron-builder.yml'), 'utf8')).toContain(`\nappId: ${appId}\n`);
});
