import { useState } from 'react';
import type { Pack } from '../../../../../shared/client/operations.ts';
import { useLanguage } from '../../app/language.tsx';
import { useIsAdmin } from '../../app/session.tsx';
import { Button } from '../../ui/button.tsx';
import { CreateWorkflowDialog } from './create-workflow-dialog.tsx';
import { InstallDialog } from './install-dialog.tsx';

/** Buttons that install a pack and create workflows from it. */
export function PackActions({ pack }: { pack: Pack }) {
  const texts = useLanguage().words.packs;
  const isAdmin = useIsAdmin();
  const [dialog, setDialog] = useState<'install' | 'create' | null>(null);
  const { installedVersion, version } = pack;
  return (
    <>
      {installedVersion !== version && (
        <Button disabled={!isAdmin} title={isAdmin ? undefined : texts.onlyAdmins} onClick={() => setDialog('install')}>
          {installedVersion === null ? texts.install : texts.update}
        </Button>
      )}
      {installedVersion !== null && (
        <Button variant="primary" onClick={() => setDialog('create')}>
          {texts.create}
        </Button>
      )}
      {dialog === 'install' && <InstallDialog pack={pack} onClose={() => setDialog(null)} />}
      {dialog === 'create' && <CreateWorkflowDialog pack={pack} onClose={() => setDialog(null)} />}
    </>
  );
}
