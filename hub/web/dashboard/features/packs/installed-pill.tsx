import type { Pack } from '../../../../../shared/client/operations.ts';
import { useLanguage } from '../../app/language.tsx';
import { Pill } from '../../ui/status.tsx';

/** Whether the newest version of a pack is installed, or which one is. Nothing for a pack that is not installed. */
export function InstalledPill({
  pack: { installedVersion, version },
}: {
  pack: Pick<Pack, 'installedVersion' | 'version'>;
}) {
  const { words, format } = useLanguage();
  const texts = words.packs;
  if (installedVersion === null) return null;
  return installedVersion === version ? (
    <Pill tone="success">{texts.installed}</Pill>
  ) : (
    <Pill tone="warning">{format(texts.installedOld, { version: installedVersion })}</Pill>
  );
}
