import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { Suspense } from 'react';
import { query } from '../../app/api.ts';
import { useLanguage } from '../../app/language.tsx';
import { useIsAdmin } from '../../app/session.tsx';
import { Card, Empty, Page, TextLink } from '../../ui/layout.tsx';
import { Loaded, Loading, MissingObject } from '../../ui/loaded.tsx';
import { SectionList } from './section-list.tsx';
import { isSection, sections } from './sections.ts';
import type { SectionDefinition, SectionName } from './sections.ts';

/** The content of a section, or why the user does not see it. */
function SectionContent({ name }: { name: SectionName }) {
  const { words, format } = useLanguage();
  const { settings } = words;
  const isAdmin = useIsAdmin();
  const entitlements = useQuery(query('readEntitlements'));
  const { Content, needsAdmin, needs }: SectionDefinition = sections[name];
  if (needsAdmin === true && !isAdmin)
    return (
      <Card>
        <Empty title={settings.adminsOnly}>{settings.adminsOnlyText}</Empty>
      </Card>
    );
  const content = (
    <Suspense fallback={<Loading />}>
      <Content />
    </Suspense>
  );
  if (needs === undefined) return content;
  return (
    <Loaded of={entitlements}>
      {(granted) =>
        granted[needs] ? (
          content
        ) : (
          <Card>
            <Empty title={format(settings.notEntitled, { product: settings.entitlements.names[needs] })}>
              {settings.notEntitledText}
            </Empty>
          </Card>
        )
      }
    </Loaded>
  );
}

/** Settings: a list of sections beside the open one; on phones the list opens the section. */
export function SettingsPage() {
  const { common, settings } = useLanguage().words;
  const { section } = useParams({ from: '/settings/{-$section}' });
  if (section !== undefined && !isSection(section))
    return (
      <MissingObject
        title={settings.missing}
        crumbs={[{ label: common.settings, link: { to: '/settings/{-$section}', params: { section: undefined } } }]}
      />
    );
  const isList = section === undefined;
  const shown = section ?? 'profile';
  const { title, text } = settings.sections[shown];
  return (
    <div className="grid gap-x-6 md:grid-cols-[12.5rem_minmax(0,1fr)]">
      <div className={isList ? '' : 'max-md:hidden'}>
        {isList && <h1 className="mb-3 md:hidden">{common.settings}</h1>}
        <SectionList selected={shown} />
      </div>
      <div className={`min-w-0 max-w-5xl ${isList ? 'max-md:hidden' : ''}`}>
        <p className="mb-1 text-sm md:hidden">
          <TextLink to="/settings/{-$section}" params={{ section: undefined }}>
            {settings.back}
          </TextLink>
        </p>
        <Page title={title} documentTitle={isList ? common.settings : title} meta={text}>
          <SectionContent key={shown} name={shown} />
        </Page>
      </div>
    </div>
  );
}
