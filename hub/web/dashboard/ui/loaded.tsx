import type { UseQueryResult } from '@tanstack/react-query';
import { useState } from 'react';
import type { ReactNode } from 'react';
import { ApiError } from '../../../../shared/client/client.ts';
import { useLanguage, useWords } from '../app/language.tsx';
import type { Words } from '../app/language.tsx';
import { ButtonLink } from './button.tsx';
import { LoadError } from './error.tsx';
import { Page } from './layout.tsx';
import type { Crumb } from './layout.tsx';

/** Shows that content loads. It appears late, so that fast responses do not flicker. */
export function Loading() {
  const { loading } = useWords().common;
  return (
    <p role="status" className="animate-[appear_0.2s_0.3s_both] p-6 text-center text-text-muted">
      {loading}
    </p>
  );
}

/** Renders the response of a query, or that it loads or failed. An old response stays visible when a reload fails. */
export function Loaded<Data>({
  of: { data, error, refetch },
  children,
}: {
  of: Pick<UseQueryResult<Data>, 'data' | 'error' | 'refetch'>;
  children: (data: Data) => ReactNode;
}) {
  if (data !== undefined) return children(data);
  if (error !== null) return <LoadError error={error} onRetry={refetch} />;
  return <Loading />;
}

/** Whether a request failed because its object does not exist, or because the id in the address is none. */
const isMissing = (error: unknown): boolean =>
  error instanceof ApiError &&
  (error.status === 404 || (error.status === 400 && error.details.some(({ path }) => path.startsWith('params'))));

/**
 * Whether the object of a query does not exist. Stays true while the query is read again: without data it has no error
 * then, and the page would change to that of an object that loads, and back.
 */
export function useIsMissing({
  data,
  error,
  errorUpdateCount,
}: Pick<UseQueryResult, 'data' | 'error' | 'errorUpdateCount'>): boolean {
  const [wasMissing, setWasMissing] = useState(false);
  const isReadAgain = error === null && data === undefined && errorUpdateCount > 0;
  const isNow = isReadAgain ? wasMissing : isMissing(error);
  if (isNow !== wasMissing) setWasMissing(isNow);
  return isNow;
}

/** The page of an object that does not exist, or whose id is none. `crumbs` end with the list of such objects. */
export function MissingObject({ title, crumbs }: { title: string; crumbs: Crumb[] }) {
  const { words, format } = useLanguage();
  const list = crumbs.at(-1);
  return (
    <Page title={title} crumbs={crumbs}>
      <p className="mb-3 text-text-muted">{words.common.notFoundText}</p>
      {list !== undefined && (
        <ButtonLink {...list.link}>{format(words.common.toList, { list: list.label })}</ButtonLink>
      )}
    </Page>
  );
}

/** The page of an object, which `children` renders. Until it is loaded, the title of the page is the type of the object. */
export function LoadedPage<Data>({
  of,
  type,
  missing,
  crumbs,
  children,
}: {
  of: Pick<UseQueryResult<Data>, 'data' | 'error' | 'errorUpdateCount' | 'refetch'>;
  type: keyof Words['common']['objectType'];
  /** Title of the page if the object does not exist. */
  missing: string;
  crumbs: Crumb[];
  children: (data: Data) => ReactNode;
}) {
  const { objectType } = useWords().common;
  const isAbsent = useIsMissing(of);
  if (of.data !== undefined) return children(of.data);
  if (isAbsent) return <MissingObject title={missing} crumbs={crumbs} />;
  return (
    <Page title={objectType[type]} crumbs={crumbs}>
      <Loaded of={of}>{children}</Loaded>
    </Page>
  );
}
