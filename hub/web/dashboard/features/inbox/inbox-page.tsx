import { useWords } from '../../app/language.tsx';
import { Page } from '../../ui/layout.tsx';

export function InboxPage() {
  const { common } = useWords();
  return <Page title={common.inbox}>{null}</Page>;
}
