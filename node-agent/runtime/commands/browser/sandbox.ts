import type { LocalSettings } from '../../../../shared/companion/settings.ts';

/** Whether Chromium would run without its sandbox, which it can't have as root. */
export const lacksSandbox = () => process.getuid?.() === 0;

/** Why the browser may not be started as this user, or null when it may. */
export function sandboxProblem({ withoutSandbox }: Pick<LocalSettings['browser'], 'withoutSandbox'>): string | null {
  if (!lacksSandbox() || withoutSandbox) return null;
  return 'The companion runs as root, and as root Chromium has no sandbox: a page that breaks out of it has the whole machine. Run the companion as another user, or allow it all the same with: outrigger-companion allow browser --without-sandbox';
}
