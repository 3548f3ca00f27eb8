import { useQuery, useQueryClient } from '@tanstack/react-query';
import type { Pack } from '../../../../../shared/client/operations.ts';
import { visibleLine } from '../../../../../shared/visible-text.ts';
import { query, useAction } from '../../app/api.ts';
import { useLanguage } from '../../app/language.tsx';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { ErrorNote } from '../../ui/error.tsx';
import { Loaded } from '../../ui/loaded.tsx';
import { showToast } from '../../ui/toasts.tsx';
import { Grants } from './grants.tsx';

/** Shows what a pack may do, and installs it. */
export function InstallDialog({ pack: { id, name, version }, onClose }: { pack: Pack; onClose: () => void }) {
  const { words, format } = useLanguage();
  const texts = words.packs;
  const cache = useQueryClient();
  const body = { packId: id, version };
  // The dry run changes nothing, so it is a read.
  const preview = useQuery(query('installAutomationSkill', { body: { ...body, dryRun: true } }));
  const install = useAction('installAutomationSkill', {
    onDone: async () => {
      await Promise.all([
        cache.invalidateQueries({ queryKey: ['listAutomationSkills'] }),
        cache.invalidateQueries({ queryKey: ['getAutomationSkillPack'] }),
      ]);
      showToast(format(texts.installDone, { name: visibleLine(name) }));
      onClose();
    },
  });
  return (
    <Dialog title={format(texts.installTitle, { name: visibleLine(name) })} onClose={onClose}>
      <p className="mb-3 text-text-muted">{texts.installText}</p>
      <Loaded of={preview}>{({ grants }) => <Grants grants={grants} />}</Loaded>
      <ErrorNote error={install.error} />
      <div className="mt-4 flex justify-end gap-2">
        <Button onClick={onClose}>{words.common.cancel}</Button>
        <Button
          variant="primary"
          isBusy={install.isPending}
          disabled={preview.data === undefined}
          onClick={() => install.start({ body })}
        >
          {texts.installNow}
        </Button>
      </div>
    </Dialog>
  );
}
