import { Store } from '../../../../../shared/web/store.ts';
import { useLanguage } from '../../app/language.tsx';
import type { DraftKind } from './draft-text.ts';

/** What an agent writes in a conversation that is not loaded. */
interface EarlyText {
  kind: DraftKind;
  text: string;
}

/** By conversation. The draft gets the text as soon as the draft of the hub is known. */
export const earlyTexts = new Store<{ texts: Readonly<Record<string, EarlyText | undefined>> }>({ texts: {} });

export function setEarlyText(id: string, text: EarlyText | null): void {
  earlyTexts.set({ texts: { ...earlyTexts.state.texts, [id]: text ?? undefined } });
}

/** Takes the text until the composer is there, so that no letter of it is lost or acts as a command. */
export function EarlyField({ id, early }: { id: string; early: EarlyText }) {
  const { inbox } = useLanguage().words;
  const isNote = early.kind === 'note';
  return (
    <div className={`border-t px-3 py-2 sm:px-4 ${isNote ? 'bg-warning-muted' : 'bg-surface'}`}>
      <textarea
        autoFocus
        dir={early.text === '' ? undefined : 'auto'}
        rows={2}
        aria-label={isNote ? inbox.noteLabel : inbox.replyLabel}
        placeholder={isNote ? inbox.notePlaceholder : inbox.replyPlaceholder}
        value={early.text}
        maxLength={10_000}
        onChange={(event) => setEarlyText(id, { kind: early.kind, text: event.target.value })}
        onKeyDown={(event) => event.key === 'Escape' && event.currentTarget.blur()}
        className="block max-h-60 min-h-14 w-full resize-none rounded-(--radius-medium) border border-border-control bg-input px-3 py-2 text-start text-text"
      />
    </div>
  );
}
