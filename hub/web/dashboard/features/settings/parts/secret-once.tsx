import type { ReactNode } from 'react';
import { useWords } from '../../../app/language.tsx';
import { Button } from '../../../ui/button.tsx';
import { Dialog } from '../../../ui/dialog.tsx';
import { CodeBlock } from '../../../ui/value.tsx';

/** Shows a secret that the hub returns only once. It closes only by its button, so that a stray click loses nothing. */
export function SecretOnce({
  title,
  label,
  secret,
  children,
  onClose,
}: {
  title: string;
  label: string;
  secret: string;
  children?: ReactNode;
  onClose: () => void;
}) {
  const { settings } = useWords();
  return (
    <Dialog title={title} isClosable={false} onClose={onClose}>
      <p className="mb-3 rounded-(--radius-medium) bg-warning-muted px-3 py-2 font-semibold text-warning">
        {settings.shownOnce}
      </p>
      <h3 className="mb-1">{label}</h3>
      <CodeBlock text={secret} label={label} />
      {children}
      <div className="mt-4 flex justify-end">
        <Button variant="primary" onClick={onClose}>
          {settings.storedIt}
        </Button>
      </div>
    </Dialog>
  );
}
