/** In SQL, whether a workspace is entitled to calling. @param tenants what its row of `tenants` is called in the statement. */
export const isEntitledToCalling = (tenants: string): string =>
  `coalesce((${tenants}.entitlements->>'business_calling')::boolean, false)`;
