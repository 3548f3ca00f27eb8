import type { LocalSettings } from '../../../../shared/companion/settings.ts';

/** Whether Chromium would run without its sandbox. Chromium has no sandbox as root. */
export const lacksSandbox = () => process.getuid?.() === 0;

/** Why the browser must not be started as this user, or null. */
export function sandboxProblem({ withoutSandbox }: Pick<LocalSettings['browser'], 'withoutSandbox'>): string | null {
  if (!lacksSandbox() || withoutSandbox) return null;
  return 'The companion runs as root, and as root Chromium has no sandbox: a page that exploits the browser controls the whole machine. Run the companion as another user, or allow it anyway with: outrigger-companion allow browser --without-sandbox';
}
