/**
 * SQL condition that is true when a workspace is entitled to calling.
 * @param tenants alias of the table `tenants` in the statement.
 */
export const isEntitledToCalling = (tenants: string): string =>
  `coalesce((${tenants}.entitlements->>'business_calling')::boolean, false)`;
