/** A page of the top level, or a page of the dashboard with its query. */
const ownPage =
  /^(?:\/[a-z][a-z-]{0,60}|\/app(?:\/(?!\.\.?(?:[/?]|$))[\w.~-]{1,100}){1,6}(?:\?[\w.~%&=+,:-]{0,1000})?|\/app\?[\w.~%&=+,:-]{0,1000})$/;

/** Whether a sign-in may redirect to this address: a path of this hub, and never another host. */
export const isOwnPage = (address: string): boolean => ownPage.test(address);
