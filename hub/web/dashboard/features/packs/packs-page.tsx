import { useWords } from '../../app/language.tsx';
import { Page } from '../../ui/layout.tsx';

export function PacksPage() {
  const { common } = useWords();
  return <Page title={common.packs}>{null}</Page>;
}
