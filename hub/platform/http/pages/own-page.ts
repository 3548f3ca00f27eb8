const topLevelPage = /^\/[a-z][a-z-]{0,60}$/;
const dashboardPage = /^\/app(?:\/(?!\.\.?(?:[/?]|$))[\w.~-]{1,100}){0,6}(?:\?[\w.~%&=+,:*!'()@;/?$-]{0,4000})?$/;

/**
 * Whether a sign-in may redirect to this address: a page of the top level or a page of the dashboard with its query, and
 * never another host.
 */
export const isOwnPage = (address: string): boolean => topLevelPage.test(address) || dashboardPage.test(address);
