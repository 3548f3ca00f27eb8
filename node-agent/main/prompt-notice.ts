import { Notification } from 'electron';
import type { Prompt } from '../../shared/companion/state.ts';

interface NoticeOptions {
  /** Brings the window to where it is seen. */
  show: () => void;
  /** Opens it, as the person wants it now. */
  open: () => void;
}

/** Tells the person of each prompt once, also where the window is closed. */
export class PromptNotice {
  readonly #options: NoticeOptions;
  #known = new Set<string>();
  /** Kept, because a notification that nothing holds takes no click. */
  #notification: Notification | null = null;

  constructor(options: NoticeOptions) {
    this.#options = options;
  }

  /** Looks at the prompts that wait now. */
  update(prompts: readonly Pick<Prompt, 'id'>[]): void {
    const isNew = prompts.some(({ id }) => !this.#known.has(id));
    this.#known = new Set(prompts.map(({ id }) => id));
    if (prompts.length === 0) this.#close();
    if (!isNew) return;
    this.#options.show();
    this.#close();
    if (!Notification.isSupported()) return;
    // What would run comes from elsewhere, and is read where it can be read whole: in the window.
    this.#notification = new Notification({
      title: 'A program waits for your word',
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
