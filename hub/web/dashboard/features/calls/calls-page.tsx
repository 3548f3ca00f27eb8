import { useWords } from '../../app/language.tsx';
import { Page } from '../../ui/layout.tsx';

export function CallsPage() {
  const { common } = useWords();
  return <Page title={common.calls}>{null}</Page>;
}
