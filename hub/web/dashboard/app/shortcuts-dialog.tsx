import { Dialog } from '../ui/dialog.tsx';
import { KeyList } from '../ui/key-list.tsx';
import { useLanguage } from './language.tsx';

/** The keys of all pages but the inbox, which has many and shows its own. */
export function ShortcutsDialog({ onClose }: { onClose: () => void }) {
  const { shortcuts } = useLanguage().words;
  return (
    <Dialog title={shortcuts.title} onClose={onClose}>
      <h3 className="mb-1.5">{shortcuts.everywhere}</h3>
      <KeyList
        entries={[
          [['Ctrl', 'K'], shortcuts.search],
          [['?'], shortcuts.title],
        ]}
      />
      <h3 className="mt-4 mb-1.5">{shortcuts.runs}</h3>
      <KeyList
        entries={[
          [['J', 'K'], shortcuts.rows],
          [['X'], shortcuts.select],
          [['Enter'], shortcuts.open],
        ]}
      />
      <h3 className="mt-4 mb-1.5">{shortcuts.run}</h3>
      <KeyList entries={[[['↓', '↑', 'J', 'K'], shortcuts.steps]]} />
      <p className="mt-4 text-sm text-text-muted">{shortcuts.inbox}</p>
    </Dialog>
  );
}
