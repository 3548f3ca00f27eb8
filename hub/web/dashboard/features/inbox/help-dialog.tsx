import { useLanguage } from '../../app/language.tsx';
import { preferences, useStorePreferences } from '../../app/preferences.ts';
import { useStore } from '../../app/use-store.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { ErrorNote } from '../../ui/error.tsx';
import { Switch } from '../../ui/form.tsx';
import { KeyList } from '../../ui/key-list.tsx';
import type { KeyEntry } from '../../ui/key-list.tsx';

/** The keys of the inbox, and how a message is sent. */
export function HelpDialog({ onClose }: { onClose: () => void }) {
  const { inbox } = useLanguage().words;
  const { enterSends } = useStore(preferences);
  const { store, error } = useStorePreferences();
  const keys: readonly KeyEntry[] = [
    [['J', 'K'], inbox.keyMove],
    [['Home', 'End'], inbox.keyEnds],
    [['R'], inbox.keyReply],
    [['N'], inbox.keyNote],
    [['Ctrl', 'Enter'], inbox.keySend],
    [['/'], inbox.keyCanned],
    [['U'], inbox.keySuggestion],
    [['E'], inbox.keyResolve],
    [['Z'], inbox.keyUndo],
    [['Ctrl', 'Z'], inbox.keyUndo],
    [['S'], inbox.snooze],
    [['A'], inbox.assignToMe],
    [['Shift', 'A'], inbox.keyAssign],
    [['#'], inbox.statusAndPriority],
    [['/'], inbox.keySearch],
    [['↑', '↓', 'Enter'], inbox.keyResults],
    [['C'], inbox.newConversation],
    [['Esc'], inbox.keyLeave],
    [['?'], inbox.shortcuts],
  ];
  return (
    <Dialog title={inbox.shortcuts} onClose={onClose}>
      <KeyList entries={keys} />
      <div className="mt-4 flex items-center gap-3 border-t pt-3">
        <div className="min-w-0 grow">
          <p className="font-semibold">{inbox.enterSends}</p>
          <p className="text-sm text-text-muted">{inbox.enterSendsText}</p>
        </div>
        <Switch label={inbox.enterSends} isOn={enterSends} onChange={(isOn) => store({ enterSends: isOn })} />
      </div>
      <ErrorNote error={error} />
    </Dialog>
  );
}
