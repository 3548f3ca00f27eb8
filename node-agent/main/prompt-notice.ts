import { Notification } from 'electron';
import type { Prompt } from '../../shared/companion/state.ts';

interface NoticeOptions {
  /** Shows the window without taking the focus. */
  show: () => void;
  /** Opens the window after a click on the notification. */
  open: () => void;
}

/** Notifies the owner once about each prompt, even if the window is closed. */
export class PromptNotice {
  readonly #options: NoticeOptions;
  #known = new Set<string>();
  /** Referenced, because a garbage-collected notification does not react to clicks. */
  #notification: Notification | null = null;

  constructor(options: NoticeOptions) {
    this.#options = options;
  }

  /** @param prompts all open prompts. */
  update(prompts: readonly Pick<Prompt, 'id'>[]): void {
    const isNew = prompts.some(({ id }) => !this.#known.has(id));
    this.#known = new Set(prompts.map(({ id }) => id));
    if (prompts.length === 0) this.#close();
    if (!isNew) return;
    this.#options.show();
    this.#close();
    if (!Notification.isSupported()) return;
    // The notification does not show the untrusted command. The window shows it completely.
    this.#notification = new Notification({
      title: 'A program is waiting for your decision',
      body: 'Open Outrigger Companion to see exactly what would run.',
    });
    this.#notification.on('click', this.#options.open);
    this.#notification.show();
  }

  #close(): void {
    this.#notification?.close();
    this.#notification = null;
  }
}
