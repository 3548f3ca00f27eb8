import { useWords } from '../../../app/language.tsx';
import { Tabs } from '../../../ui/tabs.tsx';
import { useSettingsSearch } from '../use-settings-search.ts';

/** Chooses between the form and the JSON of the same object; the choice is in the address. */
export function useView(): 'form' | 'json' {
  const [{ tab }] = useSettingsSearch();
  return tab === 'json' ? 'json' : 'form';
}

export function ViewChoice() {
  const { settings } = useWords();
  const [, change] = useSettingsSearch();
  return (
    <Tabs
      label={settings.view}
      tabs={[
        { name: 'form', label: settings.form },
        { name: 'json', label: 'JSON' },
      ]}
      selected={useView()}
      onSelect={(name) => change({ tab: name === 'form' ? undefined : name })}
    />
  );
}
