import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { useWords } from '../app/language.tsx';
import type { Words } from '../app/language.tsx';
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

/** The page of an object, which `children` renders. Until it is loaded, the title of the page is the type of the object. */
export function LoadedPage<Data>({
  of,
  type,
  crumbs,
  children,
}: {
  of: Pick<UseQueryResult<Data>, 'data' | 'error' | 'refetch'>;
  type: keyof Words['common']['objectType'];
  crumbs: Crumb[];
  children: (data: Data) => ReactNode;
}) {
  const { objectType } = useWords().common;
  if (of.data !== undefined) return children(of.data);
  return (
    <Page title={objectType[type]} crumbs={crumbs}>
      <Loaded of={of}>{children}</Loaded>
    </Page>
  );
}
